package gen

import (
	"slices"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// enums are those of the JDK that messages have; none of their constants has a body in any
// JDK, as those of TimeUnit have in JDK 8.
var enums = []codec.JavaClass{
	{Name: "java.math.RoundingMode", Constants: []string{"UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN", "UNNECESSARY"}},
	{Name: "java.time.DayOfWeek", Constants: []string{"MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"}},
	{Name: "java.time.Month", Constants: []string{
		"JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
	}},
}

// withEnums adds those that fields refer to and that are not among the classes.
func withEnums(classes []codec.JavaClass) []codec.JavaClass {
	all := slices.Clone(classes)
	for _, e := range enums {
		known := slices.ContainsFunc(classes, func(c codec.JavaClass) bool { return c.Name == e.Name })
		if !known && slices.ContainsFunc(classes, func(c codec.JavaClass) bool { return fieldsHave(c, e.Name) }) {
			all = append(all, e)
		}
	}
	return all
}

func fieldsHave(c codec.JavaClass, name string) bool {
	return slices.ContainsFunc(c.Fields, func(f codec.JavaField) bool { return has(f.Type, name) })
}

func has(t codec.JavaType, name string) bool {
	return t.Class == name || slices.ContainsFunc(t.Of, func(of codec.JavaType) bool { return has(of, name) })
}
