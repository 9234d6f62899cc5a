// Package card reads cards off Kubernetes objects. It discovers the cards of a node, parses
// the annotations that name cards, and computes how many cards a pod requests.
//
// # Words
//
//	card         a device that quotas count, such as NVIDIA-H200
//	resource     the resource name that a pod requests to get a card, such as
//	             nvidia.com/gpu; different cards may share it
//	whole card   a card with the name that a label of its node gives (Labels)
//	shared card  a part of a card, by MPS or time slices (nvidia.com/gpu.shared), or by
//	             MIG (nvidia.com/mig-<profile>)
//	card list    cards that a pod can use, the preferred first: "A|B". The pod gets one.
//	unlabeled    of a node: it has a card resource, but lacks the label that names the card
//	milli-cards  thousandths of a card (Milli)
//	problem      an error in an annotation, or in one key of it
//
// # Names of cards
//
//	<product>                              a whole card
//	<product>/mps-<GiB>g*1/<replicas>      MPS: memory of the whole card, number of parts
//	<product>/ts*1/<replicas>              time slices: number of parts
//	<product>/mig-<profile>-mixed          MIG
//
// # Units
//
// Annotations count whole cards, from 0 to MaxCards. Nodes and pods count milli-cards, as
// Volcano counts every scalar. Sums saturate at math.MaxInt64 milli-cards.
//
// # Errors
//
// A bad label makes one card Unlabeled. A bad key makes one Problem. The other labels and
// keys count.
//
// # What it is not
//
// It keeps nothing between calls and decides nothing. Its callers decide whether a pod can
// have a card, and which value counts for a key with a problem.
package card
