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
		Short: "Decode and encode values as Redisson's codecs do; write Go types for them",
		Long: `Codec works on the bytes of one value: what lies in a destination queue, or in a
delayed queue behind the 17 bytes of its packing.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCodecDecodeCmd(), newCodecEncodeCmd(), newCodecGenCmd())
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
	var name string
	cmd := &cobra.Command{
		Use:   "decode < value",
		Short: "Tell which codec wrote a value, of which class it is, and what it holds",
		Long: `Reads the bytes of a value from stdin, and prints the codec that wrote it, its class, and its content as
JSON. Objects of any class are shown, except of Kryo5, whose bytes do not name the fields. Truncated
values and trailing bytes are errors that give the offset.

Exit codes: 1 no codec reads these bytes, or they are not a whole value; 2 no such codec.`,
		Example: `  redis-cli --no-raw LINDEX orders 0
  redis-cli LINDEX orders 0 | head -c -1 | dq-bench codec decode
  echo aced000574000568656c6c6f | dq-bench codec decode --hex`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name = ofOneCodec(cmd, name)
			data, err := readValue(cmd.InOrStdin(), asHex)
			if err != nil {
				return err
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
	return "not shown: its bytes do not name the fields; take the Go type, and codec.Check"
}

func newCodecEncodeCmd() *cobra.Command {
	var name string
	var asHex bool
	cmd := &cobra.Command{
		Use:   "encode --codec kryo5 < JSON",
		Short: "Write a JSON value as a codec does",
		Long: `Reads JSON from stdin and writes the bytes of the value. A whole number is an Integer, or a Long if it is
too large; an array is an ArrayList, an object a HashMap. JSON as JsonJacksonCodec writes it is exact:
["java.lang.Long",42]. Objects of your classes need a Go type: see 'dq-bench codec gen'.

Codecs: string, long, json, typed-json, json3, typed-json3, kryo5, marshalling or serialization, and each of
them compressed, such as lz4/kryo5, by lz4, lz4-v2, snappy, snappy-v2 or zstd.

Exit codes: 1 the value cannot be written; 2 no such codec.`,
		Example: `  echo '["java.lang.Long",42]' | dq-bench codec encode --codec kryo5 --hex`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			to, err := codec.ByName(codec.Name(ofOneCodec(cmd, name)))
			if err != nil {
				return usageError(fmt.Errorf("--codec: %w", err))
			}
			data, err := readValue(cmd.InOrStdin(), false)
			if err != nil {
				return err
			}
			encoded, err := recode(data, to)
			if err != nil {
				return err
			}
			if asHex {
				encoded = fmt.Appendf(nil, "%x\n", encoded)
			}
			_, err = cmd.OutOrStdout().Write(encoded)
			return err
		},
	}
	flags := flagsOf(cmd)
	flags.str(&name, "codec", "")
	flags.yes(&asHex, "hex")
	return cmd
}

// recode writes the value of a JSON text as a codec does.
func recode(data []byte, to codec.Codec[any]) ([]byte, error) {
	as := codec.NameTypedJSON
	if kind := codec.Detect(data).Codec; kind == string(codec.NameJSON) || kind == "json|json3" {
		as = codec.NameJSON
	}
	from, err := codec.ByName(as)
	if err != nil {
		return nil, err
	}
	value, err := from.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("stdin: %w", err)
	}
	if as == codec.NameTypedJSON {
		value = codec.Plain(value) // the order of the members is none of a HashMap
	}
	return to.Encode(value)
}
