package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNeedsJava(t *testing.T) {
	for _, test := range []struct {
		class, message string
		version        int
		ok             bool
	}{
		{"java.lang.NoClassDefFoundError", "java/util/SequencedCollection", 21, true},
		{"java.lang.NoClassDefFoundError", "java/util/Unheard", 0, true},
		{"java.lang.NoClassDefFoundError", "org/redisson/api/RFuture", 0, false},
		{"java.lang.UnsupportedClassVersionError", "X has been compiled by a more recent version of the Java Runtime (class file version 65.0)", 21, true},
		{"java.lang.IllegalArgumentException", "java/util/SequencedCollection", 0, false},
	} {
		e, ok := needsJava(&RemoteError{Class: test.class, Message: test.message})
		require.Equal(t, test.ok, ok, test.message)
		if ok {
			require.Equal(t, test.version, e.Version, test.message)
		}
	}
	require.ErrorContains(t, &JavaError{Version: 21, Err: &RemoteError{Class: "x"}}, "it needs Java 21 or newer: set JAVA_HOME to that (x)")
}
