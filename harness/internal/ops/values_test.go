package ops_test

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

var update = flag.Bool("update-types", false, "write types_test.go anew")

func jarsOf(t *testing.T, version string) []string {
	t.Helper()
	redistest.Redisson(t, version)
	jars, err := redisson.Jars(t.Context(), release(version), func(line string) { t.Log(line) })
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	return jars
}

// classesOf compiles testdata/acme to a folder.
func classesOf(t *testing.T, jars []string) string {
	t.Helper()
	folder := t.TempDir()
	output, err := exec.CommandContext(t.Context(), "javac", "-d", folder, "-cp", strings.Join(jars, string(os.PathListSeparator)), "testdata/acme/Awkward.java").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return folder
}

func start(t *testing.T, o ops.JavaOptions) *ops.JavaClient {
	t.Helper()
	c, err := ops.StartJava(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func ask(t *testing.T, c *ops.JavaClient, r ops.JavaRequest) ops.JavaReply {
	t.Helper()
	replies, err := c.Do(t.Context(), r)
	require.NoError(t, err)
	return replies[0]
}

// A value that Redisson 3.16.6 wrote with MarshallingCodec.
type message struct {
	name  string
	bytes []byte
}

func awkward(t *testing.T, classes string, jars []string) (all []message) {
	t.Helper()
	classPath := strings.Join(append([]string{classes}, jars...), string(os.PathListSeparator))
	opens := "java.lang java.util java.io java.math java.net java.time java.util.concurrent java.util.concurrent.atomic"
	args := strings.Fields(strings.ReplaceAll(" "+opens, " ", "=ALL-UNNAMED --add-opens=java.base/") + "=ALL-UNNAMED")[1:]
	args = append(args, "-cp", classPath, "acme.Awkward", "codec.MarshallingCodec")
	output, err := exec.CommandContext(t.Context(), "java", args...).Output()
	require.NoError(t, err)
	for lines := bufio.NewScanner(strings.NewReader(string(output))); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), "\t")
		value, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err, "%s: %s", name, text)
		all = append(all, message{name, value})
	}
	return all
}

// Of 56 awkward values of Marshalling, Kryo5 does not carry a Timestamp's nanoseconds, a cycle, what a class writes itself, and without flags a File.
func TestAwkwardValuesAreCarried(t *testing.T) {
	old, fresh := jarsOf(t, "3.16.6"), jarsOf(t, "4.7.0")
	classes := classesOf(t, old)
	c := start(t, ops.JavaOptions{ClassPath: []string{classes}, Old: old, New: fresh})
	require.Equal(t, []string{"3.16.6", "4.7.0"}, []string{c.Hello.Old, c.Hello.New})
	require.Contains(t, c.Hello.OldCodecs, "marshalling")
	require.NotContains(t, c.Hello.OldCodecs, "kryo5", "its library does not come with the jar")
	require.Contains(t, c.Hello.NewCodecs, "kryo5")

	messages := awkward(t, classes, old)
	require.Len(t, messages, 56)
	var requests []ops.JavaRequest
	for _, m := range messages {
		requests = append(requests, ops.JavaRequest{"verb": "recode", "codec": "marshalling", "to": "kryo5", "value": m.bytes})
	}
	replies, err := c.Do(t.Context(), requests...)
	require.NoError(t, err)
	refused := map[string]string{}
	for i, r := range replies {
		if err := r.Err(); err != nil {
			refused[messages[i].name] = err.Error()
		}
	}
	require.Equal(t, map[string]string{
		"Timestamp with nanoseconds": `it would be read as another value: {"java.sql.Timestamp":"1767323045123 2026-01-02 03:04:05.123456789"} becomes {"java.sql.Timestamp":"1767323045123 2026-01-02 03:04:05.123"}`,
		"cycle":                      "it is nested deeper than 200, or holds itself",
		"writeObject":                `it would be read as another value: {"acme.Awkward$Custom":{"@class":"acme.Awkward$Custom","secret":8}} becomes {"acme.Awkward$Custom":{"@class":"acme.Awkward$Custom","secret":7}}`,
		"File":                       "a service on Java 17 reads it only with --add-opens=java.base/java.io=ALL-UNNAMED; if yours has it: DQ_JAVA='java --add-opens=java.base/java.io=ALL-UNNAMED'",
	}, refused)

	order := ask(t, c, ops.JavaRequest{"verb": "decode", "codec": "marshalling", "value": messages[0].bytes})
	require.NoError(t, order.Err())
	require.Equal(t, "acme.Awkward$Order", order.Class)
	require.True(t, order.Same)
	require.JSONEq(t, `{"@class":"acme.Awkward$Order","name":"order 7","items":[{"@class":"acme.Awkward$Item","sku":"a","count":2,"price":12.50}],"stock":{"a":1},
		"state":"NEW","shape":{"@class":"acme.Awkward$Circle","radius":1.5,"name":"c"},"id":7,"created":"2023-11-14T22:13:20.123Z"}`, string(order.JSON))

	// Go reads and writes them with the types that the program writes, which are part of this test.
	types := ask(t, c, ops.JavaRequest{"verb": "gotypes", "class": "acme.Awkward$Order acme.Awkward$Circle acme.Awkward$Page acme.Awkward$Hard", "package": "ops_test"})
	require.NoError(t, types.Err())
	source := must(format.Source([]byte(types.Source)))
	if *update {
		require.NoError(t, os.WriteFile("types_test.go", source, 0o644))
	}
	require.Equal(t, string(must(os.ReadFile("types_test.go"))), string(source))
	marshalling := must(java.NewMarshalling[Order](Classes...))
	kryo5 := must(java.NewKryo5[Order](Classes[:6]...))
	read, err := marshalling.Decode(messages[0].bytes)
	require.NoError(t, err)
	require.Equal(t, "order 7", *read.Name)
	fromJava, err := kryo5.Decode(replies[0].Value)
	require.NoError(t, err)
	require.Equal(t, read, fromJava)
	jackson := must(java.NewJackson[Order](java.JSONForm{}, Classes...))
	readers := start(t, ops.JavaOptions{ClassPath: []string{classes}, Old: fresh, New: fresh})
	for name, c := range map[string]codec.Codec[Order]{"kryo5": kryo5, "json": jackson} {
		written, err := c.Encode(read)
		require.NoError(t, err)
		again := ask(t, readers, ops.JavaRequest{"verb": "decode", "codec": name, "value": written})
		require.NoError(t, again.Err())
		require.JSONEq(t, string(order.JSON), string(again.JSON), name)
	}

	for _, class := range []string{"Tags", "Failed"} {
		r := ask(t, c, ops.JavaRequest{"verb": "gotypes", "class": "acme.Awkward$" + class})
		require.ErrorContains(t, r.Err(), "it extends java.")
	}
	_, err = java.NewSerialization[Hard](Classes...)
	require.NoError(t, err)
	_, err = java.NewKryo5[Hard]()
	require.ErrorContains(t, err, "Kryo5")
	_, err = java.NewSerialization[Custom](Classes...)
	require.NoError(t, err)
	list := messages[slices.IndexFunc(messages, func(m message) bool { return m.name == "own list" })]
	tags := ask(t, c, ops.JavaRequest{"verb": "decode", "codec": "marshalling", "value": list.bytes})
	require.JSONEq(t, `{"@class":"acme.Awkward$Tags","@elements":["t"],"colour":"red"}`, string(tags.JSON))

	plain := start(t, ops.JavaOptions{Old: old, New: fresh}) // without the application
	missing := ask(t, plain, ops.JavaRequest{"verb": "decode", "codec": "marshalling", "value": messages[0].bytes})
	require.ErrorContains(t, missing.Err(), "acme.Awkward$Order")
	require.Contains(t, missing.Missing, "acme.Awkward$Order")
	for codec, why := range map[string]string{
		"typed-json": "do not name the class", "acme.MyCodec": "ClassNotFoundException: acme.MyCodec", "lz4/kryo5": "net.jpountz.lz4.LZ4Factory",
	} {
		r := ask(t, plain, ops.JavaRequest{"verb": "recode", "codec": "string", "to": codec, "value": []byte("x")})
		require.ErrorContains(t, r.Err(), why)
	}
	require.Equal(t, `"x"`, string(ask(t, plain, ops.JavaRequest{"verb": "recode", "codec": "string", "to": "typed-json", "class": "java.lang.String", "value": []byte("x")}).Value))
	long := strings.Repeat("a\"\\é\n", 1<<19)
	r := ask(t, plain, ops.JavaRequest{"verb": "recode", "codec": "string", "to": "json", "value": []byte(long)})
	require.NoError(t, r.Err())
	again := ask(t, plain, ops.JavaRequest{"verb": "encode", "codec": "string", "json": string(r.Value)})
	require.Equal(t, long, string(again.Value))
	r = ask(t, plain, ops.JavaRequest{"verb": "encode", "codec": "kryo5", "json": `["java.lang.Long",42]`})
	require.Equal(t, "\x09\x54", string(r.Value))
	require.ErrorContains(t, ask(t, plain, ops.JavaRequest{"verb": "sing"}).Err(), "expected the verb")
}

// A Spring Boot jar is read as it is: its classes and its libraries, Redisson among them. Java may run elsewhere, and leaves nothing.
func TestSpringBootJar(t *testing.T) {
	jars := jarsOf(t, "3.16.6")
	classes := classesOf(t, jars)
	temp := t.TempDir()
	boot, content := filepath.Join(temp, "app.jar"), t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(content, "BOOT-INF/classes"), os.DirFS(classes)))
	require.NoError(t, os.Mkdir(filepath.Join(content, "BOOT-INF/lib"), 0o700))
	for _, library := range jars {
		data := must(os.ReadFile(library))
		require.NoError(t, os.WriteFile(filepath.Join(content, "BOOT-INF/lib", filepath.Base(library)), data, 0o600))
	}
	file := must(os.Create(boot))
	jar := zip.NewWriter(file)
	require.NoError(t, jar.AddFS(os.DirFS(content)))
	require.NoError(t, jar.Close())
	require.NoError(t, file.Close())

	messages := awkward(t, classes, jars)
	work := t.TempDir()
	t.Setenv("TMPDIR", work)
	for name, java := range map[string][]string{"here": nil, "elsewhere": {"env", "java", "-Djava.io.tmpdir=" + work}} {
		t.Run(name, func(t *testing.T) {
			c, err := ops.StartJava(t.Context(), ops.JavaOptions{Java: java, ClassPath: []string{boot}})
			require.NoError(t, err)
			require.Equal(t, "3.16.6", c.Hello.Old)
			r := ask(t, c, ops.JavaRequest{"verb": "decode", "codec": "marshalling", "value": messages[0].bytes})
			require.NoError(t, r.Err())
			require.Equal(t, "acme.Awkward$Order", r.Class)
			c.Close()
			require.Empty(t, must(os.ReadDir(work)))
		})
	}
	c := start(t, ops.JavaOptions{ClassPath: []string{classes + string(os.PathListSeparator) + filepath.Join(temp, "*")}})
	require.Equal(t, "3.16.6", c.Hello.New, "as java takes a class path")
	_, err := ops.StartJava(t.Context(), ops.JavaOptions{ClassPath: []string{filepath.Join(temp, "none.jar")}})
	require.ErrorContains(t, err, "no such file: "+temp)
	_, err = ops.StartJava(t.Context(), ops.JavaOptions{ClassPath: []string{"values_test.go"}})
	require.ErrorContains(t, err, "neither a jar nor a folder")
}

// A program that is no Java, or that stops to answer, ends in an error that says so.
func TestJavaThatFails(t *testing.T) {
	fake := func(script string) []string {
		file := filepath.Join(t.TempDir(), "java")
		require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		return []string{file}
	}
	hello := `read line; echo '{"id":1,"ok":true,"java":"17","old":"4.7.0","new":"4.7.0"}'; `
	for name, c := range map[string]struct {
		java    []string
		timeout time.Duration
		want    string
		noJava  bool
	}{
		"there is none":   {[]string{filepath.Join(t.TempDir(), "java")}, 0, "apt install openjdk-17-jdk-headless", true},
		"it ends":         {fake("echo 'Error: release 17 is not supported' >&2; exit 1"), 0, "ended (exit status 1): Error: release 17", true},
		"it says nothing": {fake("cat >/dev/null"), 100 * time.Millisecond, "did not answer within 100ms", true},
		"no JSON":         {fake(hello + "read line; echo what; cat >/dev/null"), 0, `should have sent answer 2, got "what"`, false},
		"another answer":  {fake(hello + `read line; echo '{"id":7}'; cat >/dev/null`), 0, "should have sent answer 2", false},
		"it dies":         {fake(hello + "read line; kill -9 $$"), 0, "ended (signal: killed)", false},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := ops.StartJava(t.Context(), ops.JavaOptions{Java: c.java, Timeout: c.timeout})
			if err == nil {
				_, err = client.Do(t.Context(), ops.JavaRequest{"verb": "decode"})
			}
			require.ErrorContains(t, err, c.want)
			require.Equal(t, c.noJava, errors.Is(err, ops.ErrNoJava))
		})
	}
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := ops.StartJava(brief, ops.JavaOptions{Java: fake("cat >/dev/null; sleep 3")})
	require.Equal(t, context.DeadlineExceeded, err, "it is not told to install Java")
	ctx, cancel := context.WithCancel(t.Context())
	client, err := ops.StartJava(ctx, ops.JavaOptions{Java: fake(hello + "cat >/dev/null")})
	require.NoError(t, err)
	cancel()
	_, err = client.Do(ctx, ops.JavaRequest{"verb": "decode"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestJavaEndsWithUs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("javac"); err != nil {
		redistest.Missing(t, "redisson", err)
	}
	folder := filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Mkdir(folder, 0o700))
	cmd := exec.CommandContext(t.Context(), "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "java/JavaValues.java", folder)
	stdin := must(cmd.StdinPipe())
	require.NoError(t, cmd.Start())
	_, err := io.WriteString(stdin, `{"id":1,"verb":"hello"}`+"\n")
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	require.NoDirExists(t, folder)
}

func fromHex(text string) string {
	return string(must(hex.DecodeString(strings.ReplaceAll(text, " ", ""))))
}

const sub = "aced00057372000864656d6f2e5375620000000000000001020002490001784c000473656c6674000a4c64656d6f2f5375623b787000000005" + "71007e0002"

// The bytes are as Redisson's codecs write them.
func TestDetectAndShow(t *testing.T) {
	for _, c := range []struct{ value, codec, class, shown string }{
		{"", "string|bytes", "", `""`},
		{"hello", "string", "java.lang.String", `"hello"`},
		{"42", "json|typed-json|json3|typed-json3|long|string", "", "42"},
		{"4.5", "json|typed-json|json3|typed-json3|string", "", "4.5"},
		{`"hello"`, "json|typed-json|json3|typed-json3|string", "java.lang.String", `"hello"`},
		{`["java.lang.Long",42]`, "json|json3", "java.lang.Long", `["java.lang.Long",42]`},
		{`{"@class":"demo.Order","id":7}`, "json|json3", "demo.Order", `{"@class":"demo.Order","id":7}`},
		{`{"@class":"demo.Order","at":["java.util.Date",7]}`, "json", "demo.Order", `{"@class":"demo.Order","at":["java.util.Date",7]}`},
		{`{"@class":"o","at":["java.util.Date","1970-01-01T00:00:00.007Z"]}`, "json3", "o", `{"@class":"o","at":["java.util.Date","1970-01-01T00:00:00.007Z"]}`},
		{`{"id":7}`, "typed-json|typed-json3|string", "", `{"id":7}`},
		{`["a","b"]`, "typed-json|typed-json3|string", "", `["a","b"]`}, {`["a.B"]`, "typed-json|typed-json3|string", "", `["a.B"]`},
		{`["a.B",1,2]`, "typed-json|typed-json3|string", "", `["a.B",1,2]`}, {`["a.B",null]`, "json|json3", "a.B", `["a.B",null]`},
		{fromHex("0368656c6cef"), "kryo5", "java.lang.String", `"hello"`},
		{fromHex("0254"), "kryo5", "java.lang.Integer", "42"},
		{fromHex("00"), "kryo5", "", "null"},
		{fromHex("0100 6a6176612e7574696c2e4c696e6b6564486173684d61f0 03 038262 0902 038261 038274"), "kryo5", "java.util.LinkedHashMap", `{"a":"t","b":1}`},
		{fromHex("043e0568656c6c6f"), "marshalling", "java.lang.String", `"hello"`},
		{fromHex("0453015b3e0170"), "marshalling", "java.util.LinkedList", `["p"]`},
		{fromHex("0442020d0c000000075424436f6c6f7242013bfe043bfe0000000352454442013bfe39fe"), "marshalling", "[[LT$Color;", `[["RED"],["RED"]]`},
		{fromHex("0442020d093e035424497a7dc0b0fff17920000000013e016123001642013bfe043bfe0000000142013bfe043bfe00000001"), "marshalling", "[[LT$I;", `[[{"@class":"T$I","a":1}],[{"@class":"T$I","a":1}]]`},
		{fromHex("aced000574000568656c6c6f"), "serialization", "java.lang.String", `"hello"`},
		{fromHex(sub), "serialization", "demo.Sub", `{"@class":"demo.Sub","self":"a demo.Sub that contains this","x":5}`},
		{fromHex("00000006600368656c6cef"), "lz4/kryo5|lz4-v2/kryo5", "java.lang.String", `"hello"`},
		{fromHex("0714 0368656c6cef 00"), "unknown", "", ""},
		{"\xff\xfe\xfd", "unknown", "", ""},
		{"\x01\x02\x03", "unknown", "", ""},
		{"two\nlines", "string", "java.lang.String", `"two\nlines"`},
	} {
		kind := ops.DetectValue([]byte(c.value))
		require.Equal(t, ops.ValueKind{Codec: c.codec, Class: c.class}, kind, "%q", c.value)
		shown, err := ops.ShowValue(kind.Likeliest(), []byte(c.value))
		require.Equal(t, c.codec == ops.UnknownValue, errors.Is(err, errors.ErrUnsupported), "%q: %v", c.value, err)
		require.Equal(t, c.shown, shown, "%q", c.value)
	}
	for _, text := range []string{"0100 64656d6f2e4f726465f2 0e 626fe2 01c601", "0100 6a6176612e7574696c2e41727261794c6973f4 82 01 01 64656d6f2e4f726465f2 00 0e 626fe2 01c601"} {
		kind := ops.DetectValue([]byte(fromHex(text)))
		require.Equal(t, "kryo5", kind.Codec)
		require.Contains(t, []string{"demo.Order", "java.util.ArrayList"}, kind.Class)
		_, err := ops.ShowValue("kryo5", []byte(fromHex(text)))
		require.ErrorAs(t, err, new(*java.ClassError), "its bytes do not name the fields")
	}
	for codec, value := range map[string]string{"kryo5": "038361eda0bd", "marshalling": "043e01eda0bd", "serialization": "aced0005740003eda0bd"} {
		require.Equal(t, codec, ops.DetectValue([]byte(fromHex(value))).Codec)
		_, err := ops.ShowValue(codec, []byte(fromHex(value)))
		require.ErrorContains(t, err, "half of a surrogate pair")
	}
	require.Equal(t, "marshalling", ops.DetectValue([]byte("\x04"+strings.Repeat("\x53\x01\x5a", 900)+"\x01")).Codec, "deeper than is read")
	for codec, value := range map[string]string{"long": "7x", "json": `{"id":`, "string": "\xff", "snappy/kryo5": "\x00", "snappy-v2/string": "\xff\xff\x03", "lz4/string": "\x00\x00\x00\x06\x10a", "json3": `"\ud83d"`, "serialization": fromHex(sub)[:60]} {
		_, err := ops.ShowValue(codec, []byte(value))
		require.Error(t, err)
		require.NotErrorIs(t, err, errors.ErrUnsupported)
		require.NotContains(t, err.Error(), "typed-json")
		require.NotContains(t, err.Error(), "<nil>")
	}
}

func FuzzDetect(f *testing.F) {
	for _, seed := range []string{"", "hello", `{"@class":"demo.Order"}`, "\x03hell\xef", "\x04\x3e\x05hello", "\xac\xed\x00\x05t\x00\x05hello", "\x00\x00\x00\x06\x60\x03hell\xef"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := ops.DetectValue(data)
		require.NotEmpty(t, kind.Codec)
		shown, err := ops.ShowValue(kind.Likeliest(), data)
		if err == nil {
			require.True(t, json.Valid([]byte(shown)), shown)
			require.NotEqual(t, ops.UnknownValue, kind.Codec)
		}
	})
}
