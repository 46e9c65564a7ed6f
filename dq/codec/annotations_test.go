package codec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

const annotationsJar = "testdata/annotations/annotations.jar" // of Annotations.java beside it

// What has annotations of Jackson, itself or above it, is written and read by no codec of JSON; what only names other
// classes of Jackson, or has a field of such a class, is.
func TestAnnotationsOfClassFiles(t *testing.T) {
	library, err := classfile.Open(annotationsJar)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	const itself = "// No codec of JSON writes or reads it: the class, or one above it, has annotations of Jackson, by which"
	const held = ` can hold the enum demo.Annotations$Status, which has annotations of Jackson, by which`
	for name, reason := range map[string]string{
		"Field": itself, "Getter": itself, "Component": itself, "Unwrapped": itself, "AnyGetter": itself, "Named": itself, "Databind": itself,
		"Circle": itself, "Heir": itself, "OfOwn": itself, "Bean": itself, "Holder": "its field status" + held, "HolderOfMany": "its field all" + held, "Plain": "", "Around": "",
	} {
		name := "demo.Annotations$" + name
		java, err := library.Class(name)
		require.NoError(t, err)
		require.Equal(t, reason == itself, java.Annotated, name)
		require.True(t, !java.Annotated || len(java.Custom) > 0, "a Recoder refuses %s", name)
		classes, err := classfile.Load(annotationsJar, name)
		require.NoError(t, err)
		source, err := gen.Source("demo", classes)
		require.NoError(t, err)
		at := strings.Index(string(source), "is the class "+name+".\n")
		require.GreaterOrEqual(t, at, 0, name)
		declared, _, _ := strings.Cut(string(source)[at:], "\n}")
		require.Equal(t, reason != "", strings.Contains(declared, ",json=no"), declared)
		require.Contains(t, declared, reason)
		require.Equal(t, strings.HasPrefix(reason, "its field"), strings.Contains(string(source), `Constants: []string{"NEW", "PAID"}, NoJSON: true}`), name)
	}
}

type (
	unannotated struct {
		_ struct{} `java:"demo.Field,serialVersionUID=1"`
		A *string  `json:"a"`
	}
	annotated struct {
		_ struct{} `java:"demo.Field,serialVersionUID=1,json=no"`
		A *string  `json:"a"`
	}
	heirOfAnnotated struct {
		_ struct{} `java:"demo.Heir,serialVersionUID=1"`
		annotated
	}
	aroundAnnotated struct {
		_     struct{}   `java:"demo.Around,serialVersionUID=1"`
		Field *annotated `json:"field"`
	}
)

// jsonOf returns an object of a class with a text in each form of JSON.
func jsonOf(class, text string) map[codec.Name]string {
	return map[codec.Name]string{
		codec.NameJSON: `{"@class":"` + class + `","a":"` + text + `"}`, codec.NameJSON3: `{"@class":"` + class + `","a":"` + text + `"}`,
		codec.NameTypedJSON: `{"a":"` + text + `"}`, codec.NameTypedJSON3: `{"a":"` + text + `"}`,
	}
}

func TestJSONRefusesWhatIsAnnotated(t *testing.T) {
	const reason = "demo.Field has annotations of Jackson"
	text := "x"
	for name, data := range jsonOf("demo.Field", text) {
		t.Run(string(name), func(t *testing.T) {
			isWritten := strings.Contains(string(name), "json")
			values, err := codec.ByName(name, codec.Class{Of: unannotated{}})
			require.NoError(t, err)
			read, err := values.Decode([]byte(data))
			require.NoError(t, err)
			require.Equal(t, unannotated{A: &text}, read)
			values, err = codec.ByName(name, codec.Class{Of: annotated{}}, codec.Class{Of: heirOfAnnotated{}}, codec.Class{Of: aroundAnnotated{}})
			require.NoError(t, err)
			_, err = values.Decode([]byte(data))
			require.ErrorContains(t, err, reason)
			for _, value := range []any{annotated{A: &text}, heirOfAnnotated{}, []any{heirOfAnnotated{}}, aroundAnnotated{Field: &annotated{}}} {
				_, err = values.Encode(value)
				require.Error(t, err)
				require.True(t, !isWritten || strings.Contains(err.Error(), reason), err)
			}
			_, err = values.Encode(aroundAnnotated{})
			require.Equal(t, isWritten, err == nil)
		})
	}
	heir, err := codec.NewJackson[heirOfAnnotated]()
	require.NoError(t, err)
	_, err = heir.Decode([]byte(`{"@class":"demo.Heir","a":"x"}`))
	require.ErrorContains(t, err, reason)
	_, err = codec.JSON[map[string][]*aroundAnnotated]{}.Decode([]byte(`{}`))
	require.ErrorContains(t, err, reason)
	_, err = codec.JSON[heirOfAnnotated]{}.Decode([]byte(`{"a":"x"}`))
	require.ErrorContains(t, err, reason)
	_, err = codec.JSON[annotated]{}.Encode(annotated{})
	require.ErrorContains(t, err, reason)
	own, err := codec.JSON[unannotated]{}.Decode([]byte(`{"a":"x"}`))
	require.NoError(t, err)
	require.Equal(t, unannotated{A: &text}, own)
}

func TestBinaryCodecsGoByNoAnnotation(t *testing.T) {
	type status string
	type held struct {
		_ struct{} `java:"demo.Held,serialVersionUID=1,json=no"`
		A *string  `json:"a"`
		S *status  `json:"s"`
	}
	text, s := "x", status("NEW")
	for _, name := range []codec.Name{codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization} {
		values, err := codec.ByName(name, codec.Class{Of: held{}}, codec.Class{Of: status(""), Name: "demo.Status", Constants: []string{"NEW"}, NoJSON: true})
		require.NoError(t, err)
		data, err := values.Encode(held{A: &text, S: &s})
		require.NoError(t, err)
		read, err := values.Decode(data)
		require.NoError(t, err)
		require.Equal(t, held{A: &text, S: &s}, read, name)
	}
}

// A constant may have another name in JSON, in a list and in a field.
func TestJSONRefusesAnnotatedEnums(t *testing.T) {
	type status string
	type one struct {
		_ struct{} `java:"demo.One"`
		A *status  `json:"a"`
	}
	s := status("NEW")
	for name, data := range jsonOf("demo.One", "NEW") {
		for _, isAnnotated := range []bool{false, true} {
			values, err := codec.ByName(name, codec.Class{Of: one{}}, codec.Class{Of: status(""), Name: "demo.Status", Constants: []string{"NEW"}, NoJSON: isAnnotated})
			require.NoError(t, err)
			read, err := values.Decode([]byte(data))
			if !isAnnotated {
				require.NoError(t, err)
				require.Equal(t, one{A: &s}, read)
				continue
			}
			require.ErrorContains(t, err, "a demo.Status a constant of an enum that has annotations of Jackson", name)
			if strings.Contains(string(name), "json") {
				_, err = values.Encode(one{A: &s})
				require.ErrorContains(t, err, "the enum demo.Status has annotations of Jackson", name)
			}
		}
	}
}

// In plain JSON what the tag of a super class says holds as well.
func TestPlainJSONHeedsTheTagOfASuperClass(t *testing.T) {
	type plain struct {
		_ struct{} `java:"demo.Base"`
		A *string  `json:"a"`
	}
	type setting struct {
		_ struct{} `java:"demo.Base,jackson3=no"`
		A *string  `json:"a"`
	}
	type lacking struct {
		_ struct{} `java:"demo.Base,lacks=b"`
		A *string  `json:"a"`
	}
	type ofPlain struct {
		plain
		N int32 `json:"n"`
	}
	type ofSetting struct {
		setting
		N int32 `json:"n"`
	}
	type ofLacking struct {
		lacking
		N int32 `json:"n"`
	}
	text, err := plainJSON3(t, ofPlain{})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":null,"n":0}`, text)
	_, err = plainJSON3(t, ofSetting{})
	require.ErrorContains(t, err, "Jackson 3 does not write or read")
	_, err = plainJSON3(t, ofLacking{})
	require.ErrorContains(t, err, "leaves out")
}

func plainJSON3[T any](t *testing.T, value T) (string, error) {
	t.Helper()
	c, err := codec.NewJSON3[T]()
	require.NoError(t, err)
	text, err := c.Encode(value)
	return string(text), err
}
