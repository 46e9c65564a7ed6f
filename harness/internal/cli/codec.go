package cli

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"go/format"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/text"
)

// maxValue bounds the bytes that are read of a value: Redis takes 512 MB, too many to show as text.
const maxValue = 16 << 20

// decodedValue is what `codec decode --json` says about a value.
type decodedValue struct {
	Schema string `json:"schema"`
	Codec  string `json:"codec"`
	Class  string `json:"class,omitempty"`
	Bytes  int    `json:"bytes"`
	// Whole says that the value was read to its end, and that these are all its bytes. It is false
	// if the bytes do not show it: text, numbers in decimal and the objects of Kryo5.
	Whole bool `json:"whole"`
	// Value is JSON, as text: one of a codec with classes has "@class" in its objects.
	Value string `json:"value,omitempty"`
	why   string // how Whole is known
}

type decoding struct {
	*call
	javaFlags
	codec, class string
	hex          bool
}

func newDecode() *call {
	d := decoding{call: newCall("codec decode", noArgs)}
	d.str(&d.codec, "codec", "")
	d.str(&d.class, "class", "")
	d.add(d.call)
	d.yes(&d.hex, "hex")
	d.prints(false)
	return d.does(func([]string) error {
		d.release = ifGiven(d.call, "release", d.release) // of the environment it is for other commands, as FROM:TO is
		if !d.call.given("codec") && strings.Contains(d.codec, ":") {
			d.codec = ""
		}
		data, err := d.read()
		if err != nil {
			return err
		}
		value, err := d.byGo(data)
		if d.javaFlags.given() {
			value, err = d.byJava(data)
		}
		if err != nil {
			return err
		}
		value.Schema, value.Bytes = "dq-bench/codec/v1", len(data)
		return d.says(value, fmt.Sprintf("codec  %s\nclass  %s\nbytes  %d\nwhole  %s\nvalue  %s\n", value.Codec, cmp.Or(value.Class, "not told"), value.Bytes,
			value.why, cmp.Or(value.Value, "not shown: its bytes do not name the fields; --classpath app.jar has Java read it")))
	})
}

// read reads a value, or its bytes in hexadecimal.
func (d decoding) read() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(d.InOrStdin(), maxValue+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the value: %w", err)
	case len(data) > maxValue:
		return nil, fmt.Errorf("the value is too long: expected at most %d bytes on stdin", maxValue)
	case d.hex:
		if data, err = hex.DecodeString(strings.Join(strings.Fields(string(data)), "")); err != nil {
			return nil, fmt.Errorf("--hex: expected hexadecimal digits on stdin: %w", err)
		}
	}
	return data, nil
}

// byGo reads a value without Java.
func (d decoding) byGo(data []byte) (decodedValue, error) {
	kind := ops.DetectValue(data)
	if d.codec != "" && !slices.Contains(strings.Split(kind.Codec, "|"), d.codec) {
		kind.Class = ""
	}
	kind.Codec = cmp.Or(d.codec, kind.Codec)
	codec := kind.Likeliest()
	shown, err := ops.ShowValue(codec, data)
	switch {
	case kind.Codec == ops.UnknownValue:
		return decodedValue{}, fmt.Errorf("no codec known here wrote these %d bytes, which begin with %.32x", len(data), data)
	case errors.Is(err, errors.ErrUnsupported):
		return decodedValue{}, usageError(named("--codec", err))
	case errors.As(err, new(*java.ClassError)):
		shown = ""
	case errors.As(err, new(*java.ValueError)):
		return decodedValue{}, fmt.Errorf("these %d bytes cannot be shown whole: %w; --classpath has Java read them", len(data), err)
	case err != nil:
		return decodedValue{}, fmt.Errorf("these %d bytes, which begin with %.32x, are not a whole value: %w", len(data), data, err)
	}
	v := decodedValue{Codec: kind.Codec, Class: kind.Class, Whole: err == nil && codec != "string" && codec != "long", Value: shown}
	switch {
	case v.Whole:
		v.why = "yes, read to its end"
	case strings.HasSuffix(codec, "kryo5"):
		v.why = "not checked: Kryo5 does not name fields, so the bytes after the name of an application's class can be anything"
	default:
		v.why = "unknown: text and numbers can end anywhere"
	}
	return v, nil
}

// byJava reads a value as the application's Redisson does.
func (d decoding) byJava(data []byte) (v decodedValue, err error) {
	client, err := d.start(d.call, "", "")
	if err != nil {
		return v, err
	}
	defer client.Close()
	codec := cmp.Or(d.codec, ops.DetectValue(data).Likeliest())
	if codec == ops.UnknownValue {
		return v, usageError(errors.New("the bytes do not tell which codec wrote them: --codec names it"))
	}
	if err := lacks(codec, client.Hello.Old, client.Hello.OldCodecs); err != nil {
		return v, err
	}
	replies, err := client.Do(d.Context(), ops.JavaRequest{"verb": "decode", "codec": codec, "class": d.class, "value": data})
	if err != nil {
		return v, err
	}
	r := replies[0]
	if err := r.Err(); err != nil {
		return v, fmt.Errorf("the Redisson %s does not read these %d bytes as %s: %w", client.Hello.Old, len(data), codec, err)
	}
	v = decodedValue{Codec: codec, Class: r.Class, Whole: r.Same, Value: string(r.JSON), why: "not told: Redisson writes other bytes for it"}
	if r.Same {
		v.why = "yes, Redisson writes the same bytes again"
	}
	return v, nil
}

func newTypes() *call {
	c := newCall("codec types", needs(1, many))
	var java javaFlags
	c.list(&java.classPath, "classpath")
	return c.does(func(classes []string) error {
		if !java.given() {
			return usageError(errors.New("expected --classpath: the jars or folders with the classes"))
		}
		client, err := java.start(c, "", "")
		if err != nil {
			return err
		}
		defer client.Close()
		replies, err := client.Do(c.Context(), ops.JavaRequest{"verb": "gotypes", "class": strings.Join(classes, " "), "package": "messages"})
		if err == nil {
			err = replies[0].Err()
		}
		if err != nil {
			return err
		}
		source, err := format.Source([]byte(replies[0].Source))
		if err != nil {
			return fmt.Errorf("the Go types of %s: %w", strings.Join(classes, ", "), err)
		}
		_, err = c.OutOrStdout().Write(source)
		return err
	})
}

// javaFlags say which classes and which Redisson Java reads values with.
type javaFlags struct {
	classPath []string
	release   string // or two, OLD:NEW
}

func (f *javaFlags) add(c *call) {
	c.list(&f.classPath, "classpath")
	c.str(&f.release, "release", "")
}

func (f javaFlags) given() bool { return len(f.classPath) > 0 || f.release != "" }

// start starts Java, to rewrite values from one codec to another, or to read them. Without --release, the Redisson on the class path reads and writes.
func (f javaFlags) start(c *call, from, to string) (*ops.JavaClient, error) {
	o := ops.JavaOptions{ClassPath: f.classPath, Java: strings.Fields(os.Getenv("DQ_JAVA")), From: from, To: to}
	defer time.AfterFunc(2*time.Second, func() { c.notice("dq-bench: starting Java") }).Stop()
	old, fresh, _ := strings.Cut(f.release, ":")
	fresh = cmp.Or(fresh, old)
	switch {
	case !f.given():
		return nil, usageError(errors.New("expected --classpath, the application with its Redisson, or --release, such as 3.16.6:4.7.0: the Redisson that writes today, and the one that will read"))
	case f.release == "":
		return ops.StartJava(c.Context(), o)
	case ops.Elsewhere(o.Java) > 0:
		return nil, usageError(fmt.Errorf("--release %s: its jars are not where %q starts Java; leave it out, and name the jars there by --classpath", f.release, os.Getenv("DQ_JAVA")))
	}
	for version, jars := range map[string]*[]string{old: &o.Old, fresh: &o.New} {
		release, err := wire.LookupRelease(version)
		if err != nil {
			return nil, usageError(fmt.Errorf("--release: %w", err))
		}
		if *jars, err = redisson.Jars(c.Context(), release, func(line string) { c.notice("%s", line) }); err != nil {
			return nil, err
		}
	}
	if old == fresh {
		o.Old = o.New
	}
	return ops.StartJava(c.Context(), o)
}

// lacks is the error about a codec that a Redisson cannot use; nil for one that it can, and for the name of a class.
func lacks(name, version string, codecs []string) error {
	if version == "" {
		return usageError(errors.New("--classpath has no Redisson: add its jars, or name one by --release"))
	}
	for part := range strings.SplitSeq(name, "/") {
		if !strings.Contains(part, ".") && !slices.Contains(codecs, part) {
			return usageError(fmt.Errorf("--codec: Redisson %s has no codec %q that works here%s; there are %s, one in another, such as lz4/kryo5, and the full names of classes",
				version, part, text.DidYouMean(part, codecs), strings.Join(codecs, ", ")))
		}
	}
	return nil
}
