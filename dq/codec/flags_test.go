package codec_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
)

// What codec gen makes of the classes of testdata/whole/whole.jar.
type (
	flag struct {
		_        struct{} `java:"demo.Whole$Flag,serialVersionUID=71,is=active:isActive"`
		Count    int32    `json:"count"`
		IsActive bool     `json:"isActive"`
		IsOld    *bool    `json:"isOld"`
	}
	lombok struct {
		_       struct{} `java:"demo.Whole$Lombok,serialVersionUID=72,is=urlsafe:URLSafe"`
		URLSafe bool     `json:"URLSafe"`
		Active  bool     `json:"active"`
		Count   int32    `json:"count"`
	}
	computed struct {
		_     struct{} `java:"demo.Whole$Computed,serialVersionUID=73,is=empty,is=full,is=olated"`
		Count int32    `json:"count"`
	}
	heir struct {
		_ struct{} `java:"demo.Whole$Heir,serialVersionUID=74,is=aURL:isaURL,is=gone,is=named,is=url:isURL,is=x:isX"`
		flag
		IsURL  bool `json:"isURL"`
		IsX    bool `json:"isX"`
		IsaURL bool `json:"isaURL"`
	}
)

// flagValues has the values of Whole.java that begin with "is".
var flagValues = map[string]any{
	"is Flag true": flag{IsActive: true, IsOld: new(true)}, "is Flag false": flag{},
	"is Lombok true": lombok{URLSafe: true, Active: true}, "is Lombok false": lombok{},
	"is Computed true": computed{Count: 1}, "is Computed false": computed{},
	"is Heir true": heir{IsURL: true, IsX: true}, "is Heir false": heir{IsaURL: true},
}

// wholeBytes returns what Redisson wrote, by codec and name.
func wholeBytes(t *testing.T, release string) map[codec.Name]map[string][]byte {
	file, err := os.Open("testdata/whole/" + release + ".tsv")
	require.NoError(t, err)
	defer file.Close()
	all := map[codec.Name]map[string][]byte{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		parts := strings.Split(lines.Text(), "\t")
		name := codec.Name(parts[0])
		if all[name] == nil {
			all[name] = map[string][]byte{}
		}
		if parts[2] != "-" {
			all[name][parts[1]], err = hex.DecodeString(parts[2])
			require.NoError(t, err)
		}
	}
	return all
}

// Where Jackson writes what isActive returns, so does this package, or it refuses.
func TestFlagsOfJackson(t *testing.T) {
	for _, release := range []string{"3.21.1", "4.7.0"} {
		written := wholeBytes(t, release)
		for name, value := range flagValues {
			for _, of := range []codec.Name{codec.NameKryo5, codec.NameSerialization, codec.NameJSON, codec.NameTypedJSON} {
				c, err := codec.ByName(of, codec.Class{Of: value})
				require.NoError(t, err)
				want := written[of][name]
				require.NotEmpty(t, want)
				got, err := c.Decode(want)
				require.NoError(t, err)
				require.Equal(t, value, got, "%s %s %s", release, of, name)
				data, err := c.Encode(value)
				if isJSON := strings.Contains(string(of), "json"); isJSON && !strings.Contains(name, "Flag") && !strings.Contains(name, "Lombok") {
					require.ErrorContains(t, err, "has a method that Jackson writes the property", name)
					require.ErrorContains(t, err, "demo.Whole$", name)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, string(want), string(data), "%s %s %s", release, of, name)
			}
		}
	}
}

// A method that returns no field, or one that is no boolean, is not known.
func TestFlagOfAnotherField(t *testing.T) {
	type counted struct {
		_     struct{} `java:"demo.Counted,is=some:count"`
		Count int32    `json:"count"`
	}
	c, err := codec.NewJackson[[]any](codec.Class{Of: counted{}})
	require.NoError(t, err)
	_, err = c.Encode([]any{counted{}})
	require.ErrorContains(t, err, `element 0: codec json: demo.Counted has a method that Jackson writes the property "some" by`)
}

// Jackson 3 goes by getters: it has no property isActive.
func TestFlagsOfJackson3(t *testing.T) {
	for _, name := range []codec.Name{codec.NameJSON3, codec.NameTypedJSON3} {
		c, err := codec.ByName(name, codec.Class{Of: flag{}})
		require.NoError(t, err)
		_, err = c.Encode(flag{})
		require.ErrorContains(t, err, `demo.Whole$Flag has a method that Jackson writes the property "active" by`)
		type private struct {
			_     struct{} `java:"demo.Private,jackson3=no"`
			Count int32    `json:"count"`
		}
		c, err = codec.ByName(name, codec.Class{Of: private{}})
		require.NoError(t, err)
		_, err = c.Encode(private{})
		require.ErrorContains(t, err, "demo.Private has fields that Jackson 3 does not write or read")
	}
}

// Class files tell the methods that Jackson takes for properties, and values are carried by them.
func TestFlagsAreCarried(t *testing.T) {
	library, err := classfile.Open("testdata/whole/whole.jar")
	require.NoError(t, err)
	defer library.Close()
	written := wholeBytes(t, "4.7.0")
	for name := range flagValues {
		for _, pair := range [][2]codec.Name{
			{codec.NameJSON, codec.NameKryo5}, {codec.NameKryo5, codec.NameJSON}, {codec.NameSerialization, codec.NameJSON}, {codec.NameJSON, codec.NameSerialization},
			{codec.NameKryo5, codec.NameTypedJSON}, {codec.NameTypedJSON, codec.NameKryo5}, {codec.NameKryo5, codec.NameJSON3},
		} {
			class := "demo.Whole$" + strings.Fields(name)[1]
			recoder, err := codec.NewRecoder(pair[0], pair[1], library.Class, class)
			require.NoError(t, err)
			data, err := recoder.Recode(written[pair[0]][name])
			_, to := pair[0], string(pair[1])
			switch {
			case to == "json3":
				require.ErrorContains(t, err, "which goes by public fields, getters and setters", name)
				require.ErrorContains(t, err, class, name)
			case strings.Contains(to, "json") && (strings.Contains(name, "Computed") || strings.Contains(name, "Heir")):
				require.ErrorContains(t, err, "has a method that Jackson writes the property", name)
				require.ErrorContains(t, err, class, name)
			default:
				require.NoError(t, err, "%s %v", name, pair)
				require.Equal(t, written[pair[1]][name], data, "%s %v: %q", name, pair, data)
			}
		}
	}
	recoder, err := codec.NewRecoder(codec.NameJSON, codec.NameKryo5, library.Class, "")
	require.NoError(t, err)
	_, err = recoder.Recode([]byte(`{"@class":"demo.Whole$Flag","active":true,"count":0,"isActive":false}`))
	require.ErrorContains(t, err, `has another value in "active" than in its field`)
}

// What the class files say.
func TestFlagsOfClassFiles(t *testing.T) {
	classes, err := classfile.Load("testdata/whole/whole.jar", "demo.Whole$Heir", "demo.Whole$Computed", "demo.Whole$Lombok")
	require.NoError(t, err)
	flags, jackson3 := map[string][]codec.JavaFlag{}, map[string][]string{}
	for _, c := range classes {
		flags[c.Name], jackson3[c.Name] = c.Flags, c.Jackson3
	}
	require.Equal(t, []codec.JavaFlag{{Property: "active", Field: "isActive"}}, flags["demo.Whole$Flag"])
	require.Equal(t, []codec.JavaFlag{{Property: "active", Field: "active"}, {Property: "urlsafe", Field: "URLSafe"}}, flags["demo.Whole$Lombok"])
	require.Equal(t, []codec.JavaFlag{{Property: "empty"}, {Property: "full"}, {Property: "olated"}}, flags["demo.Whole$Computed"])
	require.Equal(t, []codec.JavaFlag{
		{Property: "aURL", Field: "isaURL"}, {Property: "gone"}, {Property: "named"}, {Property: "url", Field: "isURL"}, {Property: "x", Field: "isX"},
	}, flags["demo.Whole$Heir"])
	require.Equal(t, []string{"count", "isActive", "isActive()"}, jackson3["demo.Whole$Flag"])
	require.Equal(t, []string{"count", "getTotal()"}, jackson3["demo.Whole$Lombok"])
}
