package cli

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"go/format"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/text"
)

func newCodecCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "Decode values of Redisson's codecs; write Go types for their classes",
		Long: `Decode reads the bytes of one value: an element of a destination queue, or a member of a
delayed queue behind the 17 bytes of its packing (16 up to 3.21.0). Types writes Go types for Java classes.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCodecDecodeCmd(), newCodecTypesCmd())
	return cmd
}

// maxValue bounds the bytes that are read of a value: what Redis takes for one.
const maxValue = 512 << 20

// readValue reads a value, or its bytes in hexadecimal.
func readValue(r io.Reader, asHex bool) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxValue+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the value: %w", err)
	case len(data) > maxValue:
		return nil, fmt.Errorf("the value has more than %d bytes, which Redis does not take", maxValue)
	case !asHex:
		return data, nil
	}
	data, err = hex.DecodeString(strings.Join(strings.Fields(string(data)), ""))
	if err != nil {
		return nil, fmt.Errorf("--hex: expected hexadecimal digits on stdin: %w", err)
	}
	return data, nil
}

// decodedValue is what `codec decode --json` says about a value.
type decodedValue struct {
	Schema string `json:"schema"`
	Codec  string `json:"codec"`
	Class  string `json:"class,omitempty"`
	Bytes  int    `json:"bytes"`
	// Whole says that the value was read to its end, and that these are all its bytes. It is false where
	// they do not tell: for text, numbers in decimal and the objects of Kryo5.
	Whole bool `json:"whole"`
	// Value is JSON, as text: one of a codec with classes has "@class" in its objects.
	Value string `json:"value,omitempty"`
	// why says how Whole is known.
	why string
}

// decoding is a call of 'codec decode'.
type decoding struct {
	javaFlags
	codec, class string
	hex, json    bool
}

func newCodecDecodeCmd() *cobra.Command {
	var d decoding
	cmd := &cobra.Command{
		Use:   "decode < value",
		Short: "Tell which codec wrote a value, of which class it is, and what it holds",
		Long: `Reads the bytes of a value from stdin, and prints the codec that wrote it, its class, and its content as
JSON. Objects of any class are shown, except of Kryo5, whose bytes do not name the fields. Truncated
values and trailing bytes are errors that give the offset.

With --classpath, the application's own Redisson reads the value, with the application's classes: also
Kryo5, FST and codecs of your own (--codec com.acme.MyCodec). --release names another Redisson, fetched by
Maven. This needs a JDK 17; in a release archive of dq-bench, any Java 17. DQ_JAVA names it, also one in a
service: DQ_JAVA='kubectl exec -i deploy/orders -- java', where sh, mktemp and dd receive the program by stdin,
and --classpath names files there.

Exit codes: 1 no codec reads these bytes, or they are not a whole value; 2 no such codec.`,
		Example: `  redis-cli LINDEX orders 0 | head -c -1 | dq-bench codec decode
  echo aced000574000568656c6c6f | dq-bench codec decode --hex
  redis-cli LINDEX orders 0 | head -c -1 | dq-bench codec decode --classpath app.jar`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("codec") && strings.Contains(d.codec, ":") {
				d.codec = "" // FROM:TO of the environment is a default for migrate
			}
			data, err := readValue(cmd.InOrStdin(), d.hex)
			if err != nil {
				return err
			}
			value, err := d.byGo(data)
			if d.given() {
				value, err = d.byJava(cmd, data)
			}
			if err != nil {
				return err
			}
			value.Schema, value.Bytes = "dq-bench/codec/v1", len(data)
			if d.json {
				return printJSON(cmd.OutOrStdout(), value)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "codec  %s\nclass  %s\nbytes  %d\nwhole  %s\nvalue  %s\n", value.Codec, text.Inert(cmp.Or(value.Class, "not told")), value.Bytes,
				value.why, text.Inert(cmp.Or(value.Value, "not shown: its bytes do not name the fields; --classpath app.jar has Java read it")))
			return err
		},
	}
	flags := flagsOf(cmd)
	flags.str(&d.codec, "codec", "")
	flags.str(&d.class, "class", "")
	d.add(flags)
	flags.yes(&d.hex, "hex")
	flags.yes(&d.json, "json")
	return cmd
}

// byGo reads a value without Java.
func (d decoding) byGo(data []byte) (decodedValue, error) {
	kind := values.Detect(data)
	if d.codec != "" && !slices.Contains(strings.Split(kind.Codec, "|"), d.codec) {
		kind.Class = ""
	}
	kind.Codec = cmp.Or(d.codec, kind.Codec)
	codec := kind.Likeliest()
	shown, err := values.Show(codec, data)
	var class *java.ClassError
	var value *java.ValueError
	switch {
	case kind.Codec == values.Unknown:
		return decodedValue{}, fmt.Errorf("no codec known here wrote these %d bytes, which begin with %.32x", len(data), data)
	case errors.Is(err, errors.ErrUnsupported):
		return decodedValue{}, usageError(fmt.Errorf("--codec: %w", err))
	case errors.As(err, &class):
		shown = ""
	case errors.As(err, &value):
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
func (d decoding) byJava(cmd *cobra.Command, data []byte) (v decodedValue, err error) {
	client, err := d.start(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return v, err
	}
	defer client.Close()
	codec := cmp.Or(d.codec, values.Detect(data).Likeliest())
	if codec == values.Unknown {
		return v, usageError(errors.New("the bytes do not tell which codec wrote them: --codec names it"))
	}
	if err := lacks(codec, client.Old, client.OldCodecs); err != nil {
		return v, err
	}
	replies, err := client.Do(cmd.Context(), values.Request{"verb": "decode", "codec": codec, "class": d.class, "value": data})
	if err != nil {
		return v, err
	}
	r := replies[0]
	if err := r.Err(); err != nil {
		return v, fmt.Errorf("the Redisson %s does not read these %d bytes as %s: %w", client.Old, len(data), codec, err)
	}
	v = decodedValue{Codec: codec, Class: r.Class, Whole: r.Same, Value: string(r.JSON), why: "not told: Redisson writes other bytes for it"}
	if r.Same {
		v.why = "yes, Redisson writes the same bytes again"
	}
	return v, nil
}

func newCodecTypesCmd() *cobra.Command {
	var java javaFlags
	cmd := &cobra.Command{
		Use:   "types CLASS... --classpath app.jar",
		Short: "Write Go types for classes of an application",
		Long: `Writes Go source with a struct for each class, for its super classes and for the classes of its fields, with
the tags of package dq/codec/java and the list of classes that its codecs take. A class with type
parameters has a Go type for each use. A field without a Go type is an any. The package is called messages.

Java reads the classes: see 'dq-bench codec decode --help' about Java 17 and DQ_JAVA.`,
		Example: `  dq-bench codec types com.acme.Order --classpath app.jar > messages/types.go`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, classes []string) error {
			if !java.given() {
				return usageError(errors.New("expected --classpath: the jars or folders with the classes"))
			}
			client, err := java.start(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer client.Close()
			replies, err := client.Do(cmd.Context(), values.Request{"verb": "gotypes", "class": strings.Join(classes, " "), "package": "messages"})
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
			_, err = cmd.OutOrStdout().Write(source)
			return err
		},
	}
	flagsOf(cmd).list(&java.classPath, "classpath")
	return cmd
}
