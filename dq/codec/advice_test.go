package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// javaOrder is what Kryo5Codec writes of demo.Order{7, "bob", 99L}.
const javaOrder = "010064656d6f2e4f726465f20e626fe201c601"

// TestKryoTellsBoxedFromPrimitive: the bytes of a Long and of a long differ, and
// nothing in them says which it is.
func TestKryoTellsBoxedFromPrimitive(t *testing.T) {
	type primitive struct {
		_     struct{} `java:"demo.Order"`
		ID    int32    `json:"id"`
		Name  string   `json:"name"`
		Total int64    `json:"total"`
	}
	type boxed struct {
		_     struct{} `java:"demo.Order"`
		ID    *int32   `json:"id"`
		Name  string   `json:"name"`
		Total *int64   `json:"total"`
	}
	wants, err := NewKryo5[primitive]()
	require.NoError(t, err)
	_, err = wants.Decode(unhex(t, javaOrder))
	require.ErrorAs(t, err, new(*FormatError))
	require.ErrorContains(t, err, "if the field total of demo.Order is a Long in Java: tag it `java:\"Long\"`")

	takes, err := NewKryo5[boxed]()
	require.NoError(t, err)
	_, err = takes.Decode(unhex(t, javaOrder))
	require.ErrorContains(t, err, "if the field id of demo.Order is no java.lang.Integer in Java")
}

// TestNoCommonFieldIsAnError: a struct without json tags would be read as empty.
func TestNoCommonFieldIsAnError(t *testing.T) {
	type untagged struct {
		_    struct{} `java:"demo.Order,serialVersionUID=1"`
		ID   int32
		Name string
	}
	for _, name := range []Name{NameMarshalling, NameSerialization, NameJSON} {
		t.Run(string(name), func(t *testing.T) {
			java, err := ByName(name, Class{Of: order{}})
			require.NoError(t, err)
			label := "bob"
			data, err := java.Encode(order{ID: 7, Name: &label})
			require.NoError(t, err)
			c, err := ByName(name, Class{Of: untagged{}})
			require.NoError(t, err)
			_, err = c.Decode(data)
			require.ErrorContains(t, err, "demo.Order")
			require.ErrorContains(t, err, `"id"`)
			require.ErrorContains(t, err, `"ID" "Name"`)
		})
	}
}

func TestUnknownClassesAreToldByPath(t *testing.T) {
	type holder struct {
		_     struct{} `java:"demo.AnyBean,serialVersionUID=50"`
		Value any      `json:"value"`
	}
	for _, v := range readFields(t, "*.tsv")["3.21.1.tsv"] {
		if v.class != "demo.AnyBean skipped" || v.codec == NameKryo5 || v.problem != "" {
			continue
		}
		c, err := ByName(v.codec, Class{Of: holder{}})
		require.NoError(t, err)
		_, err = c.Decode(v.bytes)
		if err != nil { // some are lists or maps after all
			require.ErrorContains(t, err, "field value of demo.AnyBean: ", v.text)
		}
	}
}

func TestListsAreWrittenAsDeepAsTheyAreRead(t *testing.T) {
	for _, name := range []Name{NameKryo5, NameMarshalling, NameSerialization, NameJSON} {
		c, err := ByName(name)
		require.NoError(t, err)
		var value any = "core"
		for range 300 {
			value = []any{value}
		}
		data, err := c.Encode(value)
		require.NoError(t, err, name)
		back, err := c.Decode(data)
		require.NoError(t, err, name)
		require.Equal(t, value, back)
	}
}

func TestSetsAndArraysAreToldFromLists(t *testing.T) {
	type listOf struct {
		_     struct{} `java:"demo.SetBean,serialVersionUID=50"`
		Value []string `json:"value"`
		ZZ    string   `json:"zz"`
	}
	type arrayOf struct {
		_     struct{} `java:"demo.StringArrayBean,serialVersionUID=50"`
		Value []string `json:"value"`
		ZZ    string   `json:"zz"`
	}
	for _, v := range readFields(t, "*.tsv")["3.21.1.tsv"] {
		if v.number != 0 || v.class != "demo.SetBean" && v.class != "demo.StringArrayBean" || v.codec == NameKryo5 {
			continue
		}
		c, err := ByName(v.codec, Class{Of: listOf{}}, Class{Of: arrayOf{}})
		require.NoError(t, err)
		_, err = c.Decode(v.bytes)
		if v.class == "demo.SetBean" {
			require.ErrorContains(t, err, "tag the field `java:\"HashSet\"`")
		} else {
			require.ErrorContains(t, err, "tag the field `java:\"array\"`")
		}
	}
}

// TestKryoNamesTheMissingEnum has acme.M$C6{l: B, t: "s-17"} of Redisson 4.7.0, of which l is an enum.
func TestKryoNamesTheMissingEnum(t *testing.T) {
	type loud string
	type holder struct {
		_ struct{} `java:"acme.M$C6,serialVersionUID=1"`
		L *loud    `json:"l"`
		T *string  `json:"t"`
	}
	data := unhex(t, "010061636d652e4d2443b602732d31b7")
	without, err := NewKryo5[holder]()
	require.NoError(t, err)
	_, err = without.Decode(data)
	require.ErrorContains(t, err, "where codec.loud stands for an enum of Java, give the constructor a Class of it")
	with, err := NewKryo5[holder](Class{Of: loud(""), Name: "acme.M$Loud", Constants: []string{"A", "B"}})
	require.NoError(t, err)
	value, err := with.Decode(data)
	require.NoError(t, err)
	require.Equal(t, loud("B"), *value.L)
}

// TestKryoTellsOfConstantsWithBodies: their classes are anonymous ones within the enum.
func TestKryoTellsOfConstantsWithBodies(t *testing.T) {
	c, err := NewKryo5[any]()
	require.NoError(t, err)
	for class, says := range map[string]string{
		"demo.Op$1":  "where demo.Op is an enum, it is a constant with a body of its own",
		"demo.Op$X1": "give the constructor a Class of that name",
	} {
		_, err = c.Decode(append(append([]byte{1, 0}, class[:len(class)-1]...), class[len(class)-1]|0x80))
		require.ErrorAs(t, err, new(*ClassError))
		require.ErrorContains(t, err, says)
	}
}
