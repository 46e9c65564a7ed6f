package classfile

import (
	"strings"

	"github.com/dq-bench/dq-bench/dq/codec"
)

var primitives = map[byte]string{
	'Z': "boolean", 'B': "byte", 'S': "short", 'C': "char", 'I': "int", 'J': "long", 'F': "float", 'D': "double",
}

// maxNested bounds how deep a type may be nested.
const maxNested = 100

// typeOf reads a type as class files write it, with type arguments or without. A type
// parameter, and what nobody can read, is java.lang.Object.
func typeOf(signature string) codec.JavaType {
	s := scanner{text: signature}
	return s.typ(0)
}

type scanner struct{ text string }

func (s *scanner) next() byte {
	if s.text == "" {
		return 0
	}
	b := s.text[0]
	s.text = s.text[1:]
	return b
}

func object() codec.JavaType { return codec.JavaType{Class: "java.lang.Object"} }

func (s *scanner) typ(depth int) codec.JavaType {
	if depth > maxNested {
		s.text = ""
	}
	switch code := s.next(); code {
	case '[':
		return codec.JavaType{Class: "[]", Of: []codec.JavaType{s.typ(depth + 1)}}
	case 'L':
		return s.class(depth)
	case 'T': // a type parameter
		var name string
		name, s.text, _ = strings.Cut(s.text, ";")
		t := object()
		t.Parameter = name
		return t
	case '+', '-': // ? extends, ? super
		bound := s.typ(depth + 1)
		if code == '-' || bound.Parameter != "" {
			bound = codec.JavaType{Class: object().Class, Of: []codec.JavaType{bound}}
		}
		bound.Parameter = "?"
		return bound
	case '*', 0:
		return object()
	default:
		if name, is := primitives[code]; is {
			return codec.JavaType{Class: name}
		}
	}
	s.text = ""
	return object()
}

// parametersOf returns the names of the type parameters that the signature of a class begins with.
func parametersOf(signature string) (names []string) {
	s := scanner{signature}
	return s.parameters()
}

// superOf returns the type arguments of the super class in the signature of a class.
func superOf(signature string) []codec.JavaType {
	s := scanner{signature}
	s.parameters()
	return s.typ(0).Of
}

func (s *scanner) parameters() (names []string) {
	if !strings.HasPrefix(s.text, "<") {
		return nil
	}
	s.next()
	for s.text != "" && s.text[0] != '>' {
		var name string
		name, s.text, _ = strings.Cut(s.text, ":")
		names = append(names, name)
		if s.text != "" && s.text[0] != ':' { // the bound that is a class, none where interfaces alone are
			s.typ(0)
		}
		for strings.HasPrefix(s.text, ":") {
			s.next()
			s.typ(0)
		}
	}
	s.next()
	return names
}

// class reads a class behind its L. The type arguments of an outer class are dropped.
func (s *scanner) class(depth int) codec.JavaType {
	var t codec.JavaType
	for s.text != "" {
		switch b := s.next(); b {
		case ';':
			return t
		case '<':
			t.Of = nil
			for s.text != "" && s.text[0] != '>' {
				t.Of = append(t.Of, s.typ(depth+1))
			}
			s.next()
		case '/':
			t.Class += "."
		case '.':
			t.Class, t.Of = t.Class+"$", nil
		default:
			t.Class += string(rune(b))
		}
	}
	return t
}
