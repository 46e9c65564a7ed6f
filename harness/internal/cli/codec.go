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

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/text"
)

func newCodecCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "Decode values of Redisson's codecs; write Go types for their classes",
		Long: `Decode reads the bytes of one value: an element of a destination queue, or a member of a
delayed queue behind the 17 bytes of its packing. Types writes Go types for Java classes.`,
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
	// Doubt says why a text may be a value of JSON that was cut.
	Doubt string `json:"doubt,omitempty"`
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
			kind, doubt := codec.Detect(data), codec.Doubt(data)
			if name != "" {
				if kind, err = asked(codec.Name(name), kind); err != nil {
					return err
				}
				doubt = nil
			}
			whole, err := codec.WholeAs(kind.Likeliest(), data)
			if kind.Codec == codec.UnknownCodec {
				whole, err = codec.Whole(data)
			}
			if err = notWhole(data, kind, err); err != nil {
				return err
			}
			shown, _ := codec.ShowAs(kind.Likeliest(), data)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), decodedValue{"dq-bench/codec/v1", kind.Codec, kind.Class, len(data), whole, doubtful(doubt), shown})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "codec  %s\nclass  %s\nbytes  %d\nwhole  %s\nvalue  %s\n", kind.Codec, text.Inert(cmp.Or(kind.Class, "not told")), len(data),
				text.Inert(cmp.Or(doubtful(doubt), wholeness(kind, whole))), text.Inert(cmp.Or(shown, notShown(whole))))
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

// asked returns what a value is of which the codec is told.
func asked(name codec.Name, seems codec.Kind) (codec.Kind, error) {
	if _, err := codec.ByName(name); err != nil {
		return seems, usageError(fmt.Errorf("--codec: %w", err))
	}
	if slices.Contains(strings.Split(seems.Codec, "|"), string(name)) {
		return codec.Kind{Codec: string(name), Class: seems.Class}, nil
	}
	return codec.Kind{Codec: string(name)}, nil
}

// doubtful says why a text may be no text.
func doubtful(doubt error) string {
	if doubt == nil {
		return ""
	}
	return fmt.Sprintf("in doubt: it begins as JSON does, and is none: %v; --codec says which it is", doubt)
}

// notWhole is the error about bytes that are no value, or not all of one.
func notWhole(data []byte, kind codec.Kind, err error) error {
	var broken *codec.FormatError
	switch {
	case errors.As(err, &broken), err != nil && kind.Codec == string(codec.NameLong):
		return fmt.Errorf("these %d bytes, which begin with %.32x, are no value as a codec writes it: %w", len(data), data, err)
	case kind.Codec == codec.UnknownCodec:
		return fmt.Errorf("no codec known here wrote these %d bytes, which begin with %.32x", len(data), data)
	}
	return nil
}

// wholeness says whether a value was read to its end.
func wholeness(kind codec.Kind, whole bool) string {
	_, inner := kind.Likeliest().Split()
	switch {
	case whole:
		return "yes, read to its end"
	case inner == codec.NameKryo5:
		return "not checked: Kryo5 names no fields, so that what is behind the name of a class of yours may be anything, or cut off"
	}
	return "not told: text and numbers may end anywhere"
}

// notShown says why a value is not shown.
func notShown(whole bool) string {
	if whole {
		return "not shown: its references multiply it beyond all bounds"
	}
	return "not shown: its bytes do not name the fields; --classpath app.jar has Java read it"
}
