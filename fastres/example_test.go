package fastres_test

import (
	"fmt"

	"github.com/capacity-card/capacity-card/fastres"
)

// A queue with 64 GPUs runs a task with 8 of them. Then the task ends.
func Example() {
	const gpu = fastres.FirstFree // index.Names assigns it
	const dims = 4                // cpu, memory, pods, gpu

	capability := fastres.NewVector(dims)
	capability.Set(gpu, 64_000) // thousandths

	task := fastres.NewVector(dims)
	task.Set(fastres.CPU, 16_000)      // milliCPU
	task.Set(fastres.Memory, 64*1<<30) // bytes
	task.Set(gpu, 8_000)

	allocated := fastres.NewVector(dims)
	allocated.Add(task)
	fmt.Println("GPUs allocated:", allocated.Get(gpu)/1000)

	allocated.Sub(task)
	fmt.Println("GPUs after the refund:", allocated.Get(gpu)/1000)

	fmt.Println("fits in all requested dimensions:", fastres.Fits(allocated, task, capability))
	fmt.Println("fits in some requested dimension:", fastres.FitsSomewhere(allocated, task, capability))
	// Output:
	// GPUs allocated: 8
	// GPUs after the refund: 0
	// fits in all requested dimensions: false
	// fits in some requested dimension: true
}

// A capability without GPUs inherits the parent's. A capability of 0 GPUs does not.
func ExampleVector_InheritFrom() {
	const gpu, dims = fastres.FirstFree, 4
	parent := fastres.NewVector(dims)
	parent.Set(gpu, 64_000)

	absent, zero := fastres.NewVector(dims), fastres.NewVector(dims)
	zero.Set(gpu, 0)
	fmt.Println("before:", absent.Has(gpu), zero.Has(gpu), "equal:", absent.Equal(zero))

	absent.InheritFrom(parent)
	zero.InheritFrom(parent)
	fmt.Println("after:", absent.Get(gpu), zero.Get(gpu))
	// Output:
	// before: false true equal: false
	// after: 64000 0
}
