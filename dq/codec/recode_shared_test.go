package codec_test

import (
	"encoding/hex"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// findShared is what a Recoder asks for the classes of demo/Shared.java.
func findShared(name string) (codec.JavaClass, error) {
	switch name {
	case "demo.Shared$State":
		return codec.JavaClass{Name: name, Super: "java.lang.Enum", Final: true, Constants: []string{"OPEN", "CLOSED"}}, nil
	case "demo.Shared$Other":
		return codec.JavaClass{Name: name, Super: "java.lang.Enum", Final: true, Constants: []string{"OPEN"}}, nil
	case "demo.Shared$Node":
	default:
		return codec.JavaClass{}, fs.ErrNotExist
	}
	java := codec.JavaClass{Name: name, SerialVersionUID: 70, Serializable: true}
	for field := range strings.SplitSeq("a Object, array Object[], b Object, c Object, date java.util.Date, list List<Object>, map Map<Object;Object>, "+
		"n int, next demo.Shared$Node, number Integer, s String, t String", ", ") {
		name, typ, _ := strings.Cut(field, " ")
		java.Fields = append(java.Fields, codec.JavaField{Name: name, Type: demoType(typ)})
	}
	return java, nil
}

// TestRecodeShared: what is one object for several fields, or reached from itself, and which texts are one
// instance, is in the bytes of Marshalling and Serialization, and comes over from one to the other: in the
// very bytes that Redisson 3.21.1 wrote with the one of what it read with the other.
func TestRecodeShared(t *testing.T) {
	data, err := os.ReadFile("testdata/shared/3.21.1.tsv")
	require.NoError(t, err)
	figures := &recoded{refused: map[string]int{}}
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, columns, 4)
		recoder, err := codec.NewRecoder(codec.Name(columns[0]), codec.Name(columns[2]), findShared, "")
		require.NoError(t, err)
		from, err := hex.DecodeString(columns[1])
		require.NoError(t, err)
		figures.judge(recoder, from, wireVector{Hex: columns[3]})
	}
	t.Log(figures)
	require.Empty(t, figures.wrong)
	require.Empty(t, figures.refused)
	require.Equal(t, 80, figures.identical)
}

// TestRecodeCycle: an object that is reached from itself has no form in Kryo5 and JSON; Java does not write
// it either.
func TestRecodeCycle(t *testing.T) {
	data, err := os.ReadFile("testdata/shared/3.21.1.tsv")
	require.NoError(t, err)
	refused := 0
	for line := range strings.Lines(string(data)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		from, err := hex.DecodeString(columns[1])
		require.NoError(t, err)
		recoder, err := codec.NewRecoder(codec.Name(columns[0]), codec.NameKryo5, findShared, "")
		require.NoError(t, err)
		if _, err = recoder.Recode(from); err == nil {
			continue
		}
		refused++
		var wrong *codec.RecodeError
		require.ErrorAs(t, err, &wrong)
		require.Contains(t, wrong.Reason, "holds itself")
		require.Contains(t, wrong.Path, "demo.Shared$Node.")
	}
	require.Greater(t, refused, 2)
}
