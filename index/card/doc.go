// Package card knows what cards are called: it finds the cards of a node, reads
// the annotations that name them, and says how much a pod asks for.
//
// # Words
//
//	card         a device that a quota is given in, such as NVIDIA-H200
//	resource     what a pod asks for to get a card, such as nvidia.com/gpu; many
//	             cards have the same
//	whole card   a card named by the product label of its node
//	shared card  a part of a card: MPS (nvidia.com/gpu.shared) or MIG
//	             (nvidia.com/mig-<profile>), named by its product and its part
//	list         cards of which any one will do, the preferred first: "A|B"
//	problem      what is wrong with an annotation, or with one key of it
//
// # Names
//
//	<product>                              whole card
//	<product>/mps-<GiB>g*1/<replicas>      MPS: memory of the whole card, parts of it
//	<product>/mig-<profile>-mixed          MIG
//
// # Units
//
// Annotations count whole cards. Nodes and pods count thousandths of a card, as
// Volcano does for every scalar. Nothing overflows: numbers stop at MaxCards and
// at math.MaxInt64.
//
// # What it is not
//
// It keeps nothing between calls and decides nothing: whether a pod may have a
// card, and what holds for a key that has a problem, is for its callers. It never
// fails as a whole because of one bad label or key.
package card
