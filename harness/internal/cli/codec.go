package cli

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
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
}

func newCodecDecodeCmd() *cobra.Command {
	var asHex, asJSON bool
	var name, class string
	var java javaFlags
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
			name = ofOneCodec(cmd, name)
			data, err := readValue(cmd.InOrStdin(), asHex)
			if err != nil {
				return err
			}
			if java.given() {
				return decodeByJava(cmd, java, name, class, data, asJSON)
			}
			kind := values.Detect(data)
			if name != "" {
				kind = asked(name, kind)
			}
			shown, whole, err := showValue(kind, data)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), decodedValue{"dq-bench/codec/v1", kind.Codec, kind.Class, len(data), whole, shown})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "codec  %s\nclass  %s\nbytes  %d\nwhole  %s\nvalue  %s\n", kind.Codec, text.Inert(cmp.Or(kind.Class, "not told")), len(data),
				wholeness(kind, whole), text.Inert(cmp.Or(shown, "not shown: its bytes do not name the fields; --classpath app.jar has Java read it")))
			return err
		},
	}
	flags := flagsOf(cmd)
	flags.str(&name, "codec", "")
	flags.str(&class, "class", "")
	java.add(flags)
	flags.yes(&asHex, "hex")
	flags.yes(&asJSON, "json")
	return cmd
}

// ofOneCodec returns --codec. A FROM:TO of the environment is a default for migrate.
func ofOneCodec(cmd *cobra.Command, name string) string {
	if !cmd.Flags().Changed("codec") && strings.Contains(name, ":") {
		return ""
	}
	return name
}

// asked returns the kind of a value whose codec is given.
func asked(name string, seems values.Kind) values.Kind {
	if slices.Contains(strings.Split(seems.Codec, "|"), name) {
		return values.Kind{Codec: name, Class: seems.Class}
	}
	return values.Kind{Codec: name}
}

// showValue returns a value as JSON, "" for an object of Kryo5; whole reports whether it was read to its end.
func showValue(kind values.Kind, data []byte) (shown string, whole bool, err error) {
	shown, err = values.Show(kind.Likeliest(), data)
	var class *java.ClassError
	var value *java.ValueError
	switch {
	case kind.Codec == values.Unknown:
		return "", false, fmt.Errorf("no codec known here wrote these %d bytes, which begin with %.32x", len(data), data)
	case errors.Is(err, errors.ErrUnsupported):
		return "", false, usageError(fmt.Errorf("--codec: %w", err))
	case errors.As(err, &class):
		return "", false, nil
	case errors.As(err, &value):
		return "", false, fmt.Errorf("these %d bytes cannot be shown whole: %w; --classpath has Java read them", len(data), err)
	case err != nil:
		return "", false, fmt.Errorf("these %d bytes, which begin with %.32x, are not a whole value: %w", len(data), data, err)
	}
	return shown, kind.Likeliest() != "string" && kind.Likeliest() != "long", nil
}

// wholeness reports whether a value was read to its end.
func wholeness(kind values.Kind, whole bool) string {
	switch {
	case whole:
		return "yes, read to its end"
	case strings.HasSuffix(kind.Likeliest(), "kryo5"):
		return "not checked: Kryo5 does not name fields, so the bytes after the name of an application's class can be anything"
	}
	return "unknown: text and numbers can end anywhere"
}
