package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// TypeError says that a Go type has no place in a codec. It is
// errors.ErrUnsupported.
type TypeError struct {
	// Codec is the codec that was asked.
	Codec Name
	// Type is the Go type; nil for none.
	Type reflect.Type
	// Reason says what is wrong with it and what to use.
	Reason string
}

func (e *TypeError) Error() string {
	if e.Type == nil {
		return fmt.Sprintf("codec %s: %s", e.Codec, e.Reason)
	}
	return fmt.Sprintf("codec %s: Go type %v: %s", e.Codec, e.Type, e.Reason)
}

// Unwrap returns errors.ErrUnsupported.
func (e *TypeError) Unwrap() error { return errors.ErrUnsupported }

// ClassError says that bytes hold, where a value is wanted, an object of a Java class
// that is not known to the codec: neither one of the table in the package comment nor
// given to the constructor. It is errors.ErrUnsupported.
type ClassError struct {
	// Codec is the codec that read the bytes.
	Codec Name
	// Class is the Java class, as the bytes name it.
	Class string
}

func (e *ClassError) Error() string {
	advice := "give the constructor a Class of that name, of a struct or for an enum of a string type"
	if e.isJDK() {
		advice = "no Go type stands for it; leave the field out of the struct"
		if e.Codec == NameKryo5 {
			advice = "no Go type stands for it, and Kryo5 names no fields, so that none can be left out; change the field of the Java class"
		}
	}
	if outer := e.anonymousIn(); outer != "" && e.Codec == NameKryo5 {
		advice = fmt.Sprintf("where %.80s is an enum, it is a constant with a body of its own, of a class of its own: Kryo5 writes such an enum in another way, which is not read here", outer)
	}
	return fmt.Sprintf("codec %s: the value holds the Java class %.80q, which is not known here; %s", e.Codec, e.Class, advice)
}

func (e *ClassError) isJDK() bool {
	return strings.HasPrefix(e.Class, "java.") || strings.HasPrefix(e.Class, "javax.") || strings.HasPrefix(e.Class, "[")
}

// anonymousIn returns the class in which the class is anonymous, "demo.Op" of "demo.Op$1", or "".
func (e *ClassError) anonymousIn() string {
	at := strings.LastIndexByte(e.Class, '$')
	if at <= 0 || at+1 == len(e.Class) || strings.Trim(e.Class[at+1:], "0123456789") != "" {
		return ""
	}
	return e.Class[:at]
}

// Unwrap returns errors.ErrUnsupported.
func (e *ClassError) Unwrap() error { return errors.ErrUnsupported }

// FormatError says that bytes are not what the codec writes. Most often another
// codec wrote them: see Default.
type FormatError struct {
	// Codec is the codec that read the bytes.
	Codec Name
	// Offset is where, in bytes from the start.
	Offset int
	// Truncated says that the bytes end before the value does, as it names lengths.
	Truncated bool
	// Problem says what was expected and what came.
	Problem string
}

func (e *FormatError) Error() string {
	if e.Truncated {
		return fmt.Sprintf("codec %s: byte %d: the value is cut off: %s (or written by another codec?)", e.Codec, e.Offset, e.Problem)
	}
	return fmt.Sprintf("codec %s: byte %d: %s (written by another codec?)", e.Codec, e.Offset, e.Problem)
}

// ValueError says that a value cannot be converted: a Go value that has no Java
// form, or a Java value that does not fit where it should go.
type ValueError struct {
	// Codec is the codec that converted.
	Codec Name
	// Problem says what was expected and what came.
	Problem string
}

func (e *ValueError) Error() string { return fmt.Sprintf("codec %s: %s", e.Codec, e.Problem) }
