// Package classfile answers: what do compiled Java classes say of their fields?
//
// It reads class files from jars and folders, and tells of a class and of those that its
// fields refer to what package gen makes Go types of: fields with their type arguments,
// super classes, the constants of enums in order, and serialVersionUIDs, computed as
// `serialver` of the JDK does where a class declares none.
package classfile
