package codec_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
)

// recoded counts what became of values that Java wrote in two codecs.
type recoded struct {
	values, identical int
	refused           map[string]int
	wrong             []string
	// equal are those that came out in other bytes, which mean the same.
	equal int
}

func (r *recoded) String() string {
	refused := 0
	for _, n := range r.refused {
		refused += n
	}
	return fmt.Sprintf("%d values: %d in the bytes that Redisson writes, %d equal in other bytes, %d refused, %d wrong", r.values, r.identical, r.equal, refused, len(r.wrong))
}

// judge has a value written in the other codec, and returns it where it has other bytes than those wanted.
func (r *recoded) judge(recoder *codec.Recoder, from []byte, want interface{ is(data []byte) bool }) (other []byte) {
	r.values++
	got, err := recoder.Recode(from)
	var refused *codec.RecodeError
	switch {
	case errors.As(err, &refused):
		r.refused[refused.Error()]++
	case err != nil:
		r.wrong = append(r.wrong, err.Error())
	case want.is(got):
		r.identical++
	default:
		r.wrong = append(r.wrong, fmt.Sprintf("of   %x\nwant %+v\ngot  %x", from, want, got))
		return got
	}
	return nil
}

func (m message) is(data []byte) bool { return hex.EncodeToString(data) == hex.EncodeToString(m.bytes) }

// TestRecodeCorpus writes the messages that real Redissons wrote in each of three codecs as the others:
// each comes out in the very bytes that Redisson wrote, or is refused. Other bytes mean the same where
// the codec that is read does not have what they tell: the size of a table, or that two values are one
// instance. A HashSet of objects is in another order in each Java program.
func TestRecodeCorpus(t *testing.T) {
	library, err := classfile.Open("testdata/corpus/acme.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	eachSample(t, func(t *testing.T, all corpus) {
		bytesOf := map[codec.Name]map[int]message{}
		for _, m := range all.messages {
			if bytesOf[m.codec] == nil {
				bytesOf[m.codec] = map[int]message{}
			}
			if _, err := library.Class(m.class); err == nil && m.problem == "" {
				bytesOf[m.codec][m.number] = m
			} else if m.problem == "" {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		}
		for _, from := range corpusCodecs {
			for _, to := range corpusCodecs {
				if from == to {
					continue
				}
				recoder, err := codec.NewRecoder(from, to, library.Class, "")
				require.NoError(t, err)
				values, err := codec.ByName(to, goClasses(newCorpus(corpusSeed, to, all.uids))...)
				require.NoError(t, err)
				figures := &recoded{refused: map[string]int{}}
				for number, m := range bytesOf[from] {
					want, has := bytesOf[to][number]
					if !has {
						continue
					}
					other := figures.judge(recoder, m.bytes, want)
					if value, err := values.Decode(other); other != nil && err == nil && describe(reflect.ValueOf(value), false) == m.text {
						figures.wrong = figures.wrong[:len(figures.wrong)-1]
						figures.equal++
					}
				}
				t.Logf("%s to %s: %v", from, to, figures)
				for reason, n := range figures.refused {
					t.Logf("    %d: %s", n, reason)
				}
				for _, wrong := range figures.wrong[:min(3, len(figures.wrong))] {
					t.Error(wrong)
				}
				require.GreaterOrEqual(t, figures.identical, figures.values*7/10)
				require.LessOrEqual(t, figures.equal, 4)
			}
		}
	})
}
