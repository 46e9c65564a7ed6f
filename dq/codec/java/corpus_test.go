package java_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	corpusSeed     = "1" // of the values
	corpusMessages = 2000
	// sampledMessages of each codec are in testdata/corpus.
	sampledMessages = 20
	corpusDeadline  = 10 * time.Minute
)

// corpusReleases have the codecs that a default used, the newest and the oldest read here.
var corpusReleases = map[string][]string{"3.16.6": {"marshalling", "serialization", "json"}, "4.7.0": {"kryo5", "serialization", "json"}}

// message is one message that a Redisson wrote.
type message struct {
	codec   string
	number  int
	text    string // its description
	bytes   []byte
	problem string // why Redisson cannot write it, or read it back
}

// readCorpus reads the output of Corpus.java: messages, and the serialVersionUIDs of the classes.
func readCorpus(t testing.TB, lines []byte) (all []message, uids map[string]int64) {
	uids = map[string]int64{}
	scanner := bufio.NewScanner(bytes.NewReader(lines))
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		parts := strings.Split(scanner.Text(), "\t")
		number := must(strconv.ParseInt(parts[2], 10, 64))
		if parts[0] == "class" {
			uids[parts[1]] = number
			continue
		}
		m := message{codec: parts[1], number: int(number), text: parts[4]}
		if parts[5] == "-" {
			m.problem = parts[6]
		} else {
			m.bytes = must(hex.DecodeString(parts[5]))
		}
		all = append(all, m)
	}
	require.NoError(t, scanner.Err())
	require.NotEmpty(t, all)
	return all, uids
}

func corpusCodec(t testing.TB, release, name string, uids map[string]int64) codec.Codec[any] {
	var given []java.Class
	for _, c := range readClasses(t, "corpus/classes.json", name, uids) {
		if class, ok := c.classOf(); ok {
			given = append(given, class)
		}
	}
	if release == "3.16.6" && name == "json" {
		return must(java.NewJackson[any](java.JSONForm{BareUUIDs: true}, given...))
	}
	return byName(t, name, given...)
}

// judgement counts the results of one codec.
type judgement struct {
	read, identical int
	refused         map[string]int // by reason, to read
	unwritable      map[string]int // by reason, to write
	rewritten       []message      // written in other bytes, for Redisson to read
}

// judge reads every message and writes it again. A value that differs from Redisson's description fails the test.
func judge(t *testing.T, release, name string, all []message, uids map[string]int64) judgement {
	values := corpusCodec(t, release, name, uids)
	j := judgement{refused: map[string]int{}, unwritable: map[string]int{}}
	total := 0
	for _, m := range all {
		if m.codec != name || m.problem != "" {
			continue
		}
		total++
		value, err := values.Decode(m.bytes)
		if err != nil {
			j.refused[reason(err)]++
			continue
		}
		require.Equal(t, m.text, describe(reflect.ValueOf(value), false), "%s %d: silently wrong: %s", name, m.number, m.bytes)
		j.read++
		switch written, err := values.Encode(value); {
		case err != nil:
			j.unwritable[reason(err)]++
		case bytes.Equal(written, m.bytes):
			j.identical++
		default:
			m.bytes = written
			j.rewritten = append(j.rewritten, m)
		}
	}
	t.Logf("%s: %d messages, %d read, 0 silently wrong, refused %v; %d written identically, %d in other bytes, not written %v",
		name, total, j.read, j.refused, j.identical, len(j.rewritten), j.unwritable)
	require.Subset(t, []string{"class java.util.concurrent.atomic.AtomicLong", "class java.sql.Timestamp", "expected a java."}, slices.Collect(maps.Keys(j.refused)), "%s", name)
	return j
}

// reason is the end of an error, without the names of fields and classes.
func reason(err error) string {
	var class *java.ClassError
	if errors.As(err, &class) {
		return "class " + class.Class
	}
	for _, known := range []string{"expected a java.", "not a plain value", "TreeMap", "generic class", "ConcurrentHashMap", "record", "finer than milliseconds", "another offset"} {
		if strings.Contains(err.Error(), known) {
			return known
		}
	}
	return err.Error()[:min(len(err.Error()), 300)]
}

// TestCorpusSample reads and writes messages that were recorded from real Redissons.
func TestCorpusSample(t *testing.T) {
	for release, codecs := range corpusReleases {
		all, uids := readCorpus(t, must(os.ReadFile("testdata/corpus/"+release+".tsv")))
		for _, name := range codecs {
			judge(t, release, name, all, uids)
		}
	}
}

// TestCorpusOfRedisson has real Redissons write messages of hundreds of classes, and read everything that Go writes in other
// bytes than Java. DQ_WRITE_CORPUS is a folder for the sample.
func TestCorpusOfRedisson(t *testing.T) {
	redistest.Redisson(t, slices.Collect(maps.Keys(corpusReleases))...)
	classes := compileCorpus(t)
	for release, codecs := range corpusReleases {
		run := func(stdin string, args ...string) []byte {
			return runJava(t, classPath(t, release)+string(os.PathListSeparator)+classes, stdin, "corpus.Corpus", args...)
		}
		write := func(n int) []byte { return run("", append([]string{"write", corpusSeed, fmt.Sprint(n)}, codecs...)...) }
		all, uids := readCorpus(t, write(corpusMessages))
		for _, name := range codecs {
			j := judge(t, release, name, all, uids)
			var lines strings.Builder
			for _, m := range j.rewritten {
				fmt.Fprintf(&lines, "%s\t%d\t%x\n", m.codec, m.number, m.bytes)
			}
			answers := strings.Split(strings.TrimSuffix(string(run(lines.String(), "read", corpusSeed)), "\n"), "\n")
			for i, m := range j.rewritten {
				require.Equal(t, fmt.Sprintf("%s\t%d\tok", name, m.number), answers[i], "%s\n%x", m.text, m.bytes)
			}
		}
		if dir := os.Getenv("DQ_WRITE_CORPUS"); dir != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, release+".tsv"), write(sampledMessages), 0o644))
		}
	}
}

// entity is the RedisDataEntity of document 000.
type entity struct {
	_      struct{} `java:"corpus.Entity,serialVersionUID=1"`
	Data   any      `json:"data"`
	Expire *int64   `json:"expire"`
	Time   *int64   `json:"time"`
}

// TestEntityOfDocument000 has Redisson read the entity from Go, in the default codec of its release, and write it.
func TestEntityOfDocument000(t *testing.T) {
	redistest.Redisson(t, "3.16.6", "4.7.0")
	classes := compileCorpus(t)
	for release, name := range map[string]string{"3.16.6": "marshalling", "4.7.0": "kryo5"} {
		c := byName(t, name, java.Class{Of: entity{}})
		want := entity{Data: "a", Expire: new(int64(300)), Time: new(int64(1642141312135))}
		data := encoded[any](c, want)
		text := string(runJava(t, classPath(t, release)+string(os.PathListSeparator)+classes, "", "corpus.Entity", name, hex.EncodeToString(data)))
		fields := strings.Fields(text)
		require.Equal(t, []string{"a", "300", "1642141312135", hex.EncodeToString(data)}, fields, "the same bytes")
		require.Equal(t, want, decoded(c, data))
	}
}

// compileCorpus compiles Corpus.java and the classes, and returns the folder.
func compileCorpus(t *testing.T) string {
	sources, out := t.TempDir(), t.TempDir()
	files := must(filepath.Glob("testdata/java/corpus/*.java"))
	var list strings.Builder
	for _, c := range readClasses(t, "corpus/classes.json", "serialization", nil) {
		file := filepath.Join(sources, strings.TrimPrefix(c.Name, "acme.")+".java")
		require.NoError(t, os.WriteFile(file, []byte(c.Source), 0o644))
		files = append(files, file)
		list.WriteString(c.Name)
		if c.Message {
			list.WriteString(" message")
		}
		list.WriteString("\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	args := append([]string{"-proc:none", "-nowarn", "-Xlint:none", "-d", out, "-cp", classPath(t, "4.7.0")}, files...)
	problems, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput()
	require.NoError(t, err, string(problems))
	require.NoError(t, os.WriteFile(filepath.Join(out, "acme", "classes"), []byte(list.String()), 0o644))
	return out
}

func classPath(t *testing.T, release string) string {
	r := must(wire.ParseRelease(release))
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	built, err := redisson.Build(ctx, r, func(line string) { t.Log(line) })
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	return built[slices.Index(built, "-cp")+1]
}

func runJava(t *testing.T, classPath, stdin, main string, args ...string) []byte {
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	opens := []string{"--add-opens", "java.base/java.util=ALL-UNNAMED", "--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/java.time=ALL-UNNAMED"}
	program := exec.CommandContext(ctx, "java", append(append(opens, "-cp", classPath, main), args...)...)
	program.Stdin = strings.NewReader(stdin)
	var problems bytes.Buffer
	program.Stderr = &problems
	out, err := program.Output()
	require.NoError(t, err, problems.String())
	return out
}

// describe describes a decoded value in the words of Describer.java.
func describe(v reflect.Value, asSet bool) string {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.Type() != reflect.TypeFor[*big.Int]() {
		v = v.Elem()
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil() {
		return "null"
	}
	if text := describeScalar(v.Interface()); text != "" {
		return text
	}
	var parts []string
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, describe(v.Index(i), false))
		}
		if asSet || v.Type() == reflect.TypeFor[java.Set]() {
			slices.Sort(parts)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case reflect.Map:
		values := map[string]string{}
		for entries := v.MapRange(); entries.Next(); {
			values[describe(entries.Key(), false)] = describe(entries.Value(), false)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, key+":"+values[key])
		}
		return "{" + strings.Join(parts, ",") + "}"
	case reflect.Struct:
		fields := map[string]string{}
		describeFields(v, fields)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			parts = append(parts, name+"="+fields[name])
		}
		blank, _ := v.Type().FieldByName("_")
		class, _, _ := strings.Cut(blank.Tag.Get("java"), ",")
		return class + "{" + strings.Join(parts, ",") + "}"
	}
	return fmt.Sprintf("enum %v", v)
}

func describeFields(v reflect.Value, into map[string]string) {
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Anonymous:
			describeFields(v.Field(i), into)
		case f.Name != "_" && f.Tag.Get("corpus") == "":
			into[f.Tag.Get("json")] = describe(v.Field(i), strings.Contains(f.Tag.Get("java"), "Set"))
		}
	}
}

// describeScalar returns "" for other values.
func describeScalar(value any) string {
	switch value := value.(type) {
	case []byte:
		return fmt.Sprintf("bytes %x", value)
	case string:
		return fmt.Sprintf("text %x", value)
	case int8, int16, int32, int64, uint16, bool:
		names := map[string]string{"int8": "Byte", "int16": "Short", "int32": "Integer", "int64": "Long", "uint16": "char", "bool": "Boolean"}
		return fmt.Sprintf("%s %v", names[reflect.TypeOf(value).Name()], value)
	case float64:
		return fmt.Sprintf("double %x", math.Float64bits(value))
	case float32:
		return fmt.Sprintf("float %x", math.Float32bits(value))
	case java.Timestamp:
		return fmt.Sprintf("Timestamp %d %d", value.Unix(), value.Nanosecond())
	case time.Time:
		return fmt.Sprintf("Instant %d %d", value.Unix(), value.Nanosecond())
	case time.Duration:
		return fmt.Sprintf("Duration %d", int64(value))
	case java.Decimal:
		return "BigDecimal " + string(value)
	case *big.Int:
		return "BigInteger " + value.String()
	}
	if of := reflect.TypeOf(value); of.PkgPath() == reflect.TypeFor[java.Date]().PkgPath() && of != reflect.TypeFor[java.Set]() {
		return fmt.Sprintf("%s %v", of.Name(), value)
	}
	return ""
}

// goClass is a Java class of testdata/corpus/classes.json or testdata/fields.json, with the Go types that a user declares. The
// corpus has 300 classes as services send them: beans, records, subclasses, generic containers, interfaces.
type goClass struct {
	Name, Options, Super, Source string
	Constants                    []string // of an enum
	Message                      bool     // values are sent by themselves
	Fields                       []struct {
		Name, Type, Tag string
		LeftOut         bool // Go has no type for it
	}
	of reflect.Type
}

// The Go types of enums; reflection cannot make them.
type (
	enum0 string
	enum1 string
	enum2 string
	enum3 string
)

// goTypes are Go types by their names in the files.
type goTypes map[string]reflect.Type

func newGoTypes() goTypes {
	named := goTypes{
		"any": reflect.TypeFor[any](), "demo.Color": reflect.TypeFor[color](), "demo.DateBean": reflect.TypeFor[dateBean](),
		"acme.Enum0": reflect.TypeFor[enum0](), "acme.Enum1": reflect.TypeFor[enum1](), "acme.Enum2": reflect.TypeFor[enum2](), "acme.Enum3": reflect.TypeFor[enum3](),
	}
	for _, v := range []any{
		"", false, int8(0), int16(0), int32(0), int64(0), uint8(0), uint16(0), float32(0), 0.0, big.Int{}, time.Time{}, time.Duration(0), //nolint:govet // for their types
		java.Date(0), java.Timestamp{}, java.UUID{}, java.Set{}, java.Decimal(""), java.LocalDate(""), java.LocalTime(""), java.LocalDateTime(""), java.OffsetDateTime(""),
		java.OffsetTime(""), java.ZonedDateTime(""), java.Period(""), java.Year(""), java.YearMonth(""), java.MonthDay(""), java.Currency(""), java.Locale(""), java.URI(""),
	} {
		named[reflect.TypeOf(v).String()] = reflect.TypeOf(v)
	}
	return named
}

// parse returns the type of a text such as map[string][]*acme.Class9, or of acme.Class8<of=type>, whose first field has that type.
func (named goTypes) parse(t testing.TB, text string, generic func(class, of string, first reflect.Type) reflect.Type) reflect.Type {
	if elem, ok := strings.CutPrefix(text, "*"); ok {
		return reflect.PointerTo(named.parse(t, elem, generic))
	} else if elem, ok := strings.CutPrefix(text, "[]"); ok {
		return reflect.SliceOf(named.parse(t, elem, generic))
	} else if rest, ok := strings.CutPrefix(text, "map["); ok {
		key, elem, _ := strings.Cut(rest, "]")
		return reflect.MapOf(named.parse(t, key, generic), named.parse(t, elem, generic))
	} else if class, argument, ok := strings.Cut(strings.TrimSuffix(text, ">"), "<"); ok {
		of, first, _ := strings.Cut(argument, "=")
		return generic(class, of, named.parse(t, first, generic))
	}
	require.NotNil(t, named[text], text)
	return named[text]
}

// readClasses reads the classes of a file, with the serialVersionUIDs of Java. A codec whose bytes name the fields needs
// none for those left out.
func readClasses(t testing.TB, file, codec string, uids map[string]int64) (all []goClass) {
	require.NoError(t, json.Unmarshal(must(os.ReadFile("testdata/"+file)), &all))
	named, byName := newGoTypes(), map[string]*goClass{}
	var structOf func(c *goClass, option string, first reflect.Type) reflect.Type
	generic := func(class, of string, first reflect.Type) reflect.Type {
		return structOf(byName[class], ",of="+of, first)
	}
	structOf = func(c *goClass, option string, first reflect.Type) reflect.Type {
		name, _, _ := strings.Cut(c.Name, " ") // "demo.AnyBean skipped" is one without the field
		if uid, known := uids[c.Name]; known {
			option += fmt.Sprintf(",serialVersionUID=%d", uid)
		}
		fields := []reflect.StructField{{Name: "_", PkgPath: "acme", Type: reflect.TypeFor[struct{}](), Tag: reflect.StructTag(fmt.Sprintf("java:%q", name+c.Options+option))}}
		if c.Super != "" {
			fields = append(fields, reflect.StructField{Name: strings.TrimPrefix(c.Super, "acme."), Type: byName[c.Super].of, Anonymous: true})
		}
		for i, f := range c.Fields {
			if f.LeftOut && codec != "kryo5" {
				continue
			}
			of := first
			if i > 0 || first == nil {
				of = named.parse(t, f.Type, generic)
			}
			tags := fmt.Sprintf("json:%q java:%q", f.Name, f.Tag)
			if f.LeftOut {
				tags += ` corpus:"left out"`
			}
			fields = append(fields, reflect.StructField{Name: strings.ToUpper(f.Name[:1]) + f.Name[1:], Type: of, Tag: reflect.StructTag(tags)})
		}
		return reflect.StructOf(fields)
	}
	for i := range all {
		c := &all[i]
		if c.of = named[c.Name]; c.of == nil && len(c.Fields) == 0 {
			c.of = reflect.TypeFor[any]() // an interface
		} else if c.of == nil {
			c.of = structOf(c, "", nil)
		}
		named[c.Name], byName[c.Name] = c.of, c
	}
	return all
}

// classOf returns the class for a constructor; false for an interface.
func (c *goClass) classOf() (java.Class, bool) {
	class := java.Class{Of: reflect.Zero(c.of).Interface()}
	if c.Constants != nil {
		class.Name, class.Constants, class.Final = c.Name, c.Constants, true
	}
	return class, c.of.Kind() != reflect.Interface
}
