// Package gen answers: which Go types stand for these classes of Java?
//
// It writes them as source, from what codec.Describe tells of a sample, or from class
// files (package classfile), so that nobody writes a serialVersionUID by hand.
package gen
