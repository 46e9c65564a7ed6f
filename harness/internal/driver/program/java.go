package program

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// JavaError says that a program lacks what a newer Java has.
type JavaError struct {
	// Version is the Java that has it, 0 where that is not known.
	Version int
	// Err is what the program answered with.
	Err *RemoteError
}

func (e *JavaError) Error() string {
	newer := "a newer Java"
	if e.Version > 0 {
		newer = fmt.Sprintf("Java %d or newer", e.Version)
	}
	return fmt.Sprintf("it needs %s: set JAVA_HOME to that (%v)", newer, e.Err)
}

func (e *JavaError) Unwrap() error { return e.Err }

// classFile is how a JVM names the version of a class that is too new for it.
var classFile = regexp.MustCompile(`class file version (\d+)`)

// needsJava reports whether an error is that of a Java that is too old: a class of a newer
// one, or one of the JDK's that it does not have.
func needsJava(err *RemoteError) (*JavaError, bool) {
	switch err.Class {
	case "java.lang.UnsupportedClassVersionError":
		e := &JavaError{Err: err}
		if m := classFile.FindStringSubmatch(err.Message); m != nil {
			n, _ := strconv.Atoi(m[1])
			e.Version = n - 44 // Java 1.1 was 45
		}
		return e, true
	case "java.lang.NoClassDefFoundError":
		name := strings.ReplaceAll(err.Message, "/", ".")
		switch {
		case strings.HasPrefix(name, "java.util.Sequenced"):
			return &JavaError{Version: 21, Err: err}, true
		case strings.HasPrefix(name, "java."):
			return &JavaError{Err: err}, true
		}
	}
	return nil, false
}
