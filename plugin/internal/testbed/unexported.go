package testbed

import (
	"reflect"
	"unsafe"
)

// Settable makes an unexported field of an addressable struct readable and settable.
func Settable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}
