package chaos

import (
	"maps"
	"reflect"

	"github.com/capacity-card/capacity-card/bench/cluster"
)

func (d SetQueue) apply(w *World) {
	own := d.QueueSpec
	own.Annotations = maps.Clone(own.Annotations)
	object := cluster.Queue(own.Queue, "")
	if own.Unreclaimable {
		object.Spec.Reclaimable = new(bool)
	}

	q := w.Queues[own.Name]
	if q == nil {
		q = &Queue{}
		object.UID = w.uid(object.Name)
		object.Generation = 1
		w.Queues[object.Name] = q
	} else {
		object.UID = q.Object.UID
		object.Generation = q.Object.Generation
		if !reflect.DeepEqual(object.Spec, q.Object.Spec) {
			object.Generation++ // annotations and status have none
		}
	}

	q.Spec = own
	q.Object = object
}

func (d EditQueue) apply(w *World) {
	if q := w.Queues[d.Queue]; q != nil {
		own := q.Spec
		own.Annotations = maps.Clone(own.Annotations)
		words := &words{rest: d.Words}
		words.ofQueue(&own)
		SetQueue{own}.apply(w)
	}
}

func (d DeleteQueue) apply(w *World) { delete(w.Queues, d.Queue) }
