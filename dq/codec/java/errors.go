package java

import (
	"errors"
	"fmt"
	"reflect"
)

// TypeError reports a Go type that a codec does not support. It wraps errors.ErrUnsupported.
type TypeError struct {
	Codec  string
	Type   reflect.Type
	Reason string // the problem, and the type to use
}

func (e *TypeError) Error() string {
	if e.Type == nil {
		return fmt.Sprintf("codec %s: %s", e.Codec, e.Reason)
	}
	return fmt.Sprintf("codec %s: %v: %s", e.Codec, e.Type, e.Reason)
}

// Unwrap returns errors.ErrUnsupported.
func (e *TypeError) Unwrap() error { return errors.ErrUnsupported }

// ValueError reports a value that the codec, or the Go type to read it into, cannot represent.
type ValueError struct {
	Codec  string
	Reason string
}

func (e *ValueError) Error() string { return fmt.Sprintf("codec %s: %s", e.Codec, e.Reason) }

// ClassError reports a value of a Java class that has no Go type.
type ClassError struct {
	Codec string
	Class string
}

func (e *ClassError) Error() string {
	return fmt.Sprintf("codec %s: the value holds the Java class %.200q; pass a Class with a Go type for it to the constructor", e.Codec, e.Class)
}

// FormatError reports bytes that the codec does not write.
type FormatError struct {
	Codec     string
	Offset    int
	Truncated bool // the bytes end before the value does
	Problem   string
}

func (e *FormatError) Error() string {
	cut := ""
	if e.Truncated {
		cut = "the value is cut off: "
	}
	return fmt.Sprintf("codec %s: byte %d: %s%s", e.Codec, e.Offset, cut, e.Problem)
}
