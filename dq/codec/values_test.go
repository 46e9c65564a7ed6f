package codec

import (
	"encoding/hex"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDecimalText has the examples of BigDecimal.toString in the JDK's documentation.
func TestDecimalText(t *testing.T) {
	for _, test := range []struct {
		unscaled int64
		scale    int32
		text     Decimal
	}{
		{123, 0, "123"}, {-123, 0, "-123"}, {123, -1, "1.23E+3"}, {123, -3, "1.23E+5"}, {123, 1, "12.3"}, {123, 5, "0.00123"},
		{123, 10, "1.23E-8"}, {-123, 12, "-1.23E-10"}, {0, 3, "0.000"}, {0, 7, "0E-7"}, {0, -2, "0E+2"}, {5, 1, "0.5"},
	} {
		require.Equal(t, test.text, decimalOf(big.NewInt(test.unscaled), test.scale))
		unscaled, scale, err := test.text.parts()
		require.NoError(t, err)
		require.Equal(t, test.unscaled, unscaled.Int64())
		require.Equal(t, test.scale, scale)
	}
	for _, text := range []Decimal{"", "a", "1.2.3", "1_000", "1E", "1E3000000000", "1E-2147483648", "0x10", "1.-5"} {
		_, _, err := text.parts()
		require.Error(t, err, text)
	}
}

func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"12.50", "-0.001", "1E+3", "0E-7", "+5.", "1E-2147483648"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		unscaled, scale, err := Decimal(text).parts()
		if err != nil {
			return
		}
		again, sameScale, err := decimalOf(unscaled, scale).parts()
		require.NoError(t, err)
		require.Zero(t, unscaled.Cmp(again))
		require.Equal(t, scale, sameScale)
	})
}

// TestIntegerBytes has the borders of BigInteger.toByteArray.
func TestIntegerBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "00", 1: "01", -1: "ff", 127: "7f", 128: "0080", -128: "80", -129: "ff7f", 255: "00ff", -255: "ff01", -256: "ff00",
		-32768: "8000", -32769: "ff7fff", 32768: "008000",
	} {
		data := integerBytes(big.NewInt(n))
		require.Equal(t, want, hex.EncodeToString(data), n)
		require.Equal(t, n, integerOf(data).Int64())
	}
}

func TestDurationsOfJava(t *testing.T) {
	for _, d := range []time.Duration{0, 1, -1, time.Second, -time.Second, -time.Second - 1, 1<<62 + 3} {
		seconds, nanos := durationParts(d)
		require.GreaterOrEqual(t, nanos, int32(0))
		back, fits := durationOf(seconds, nanos)
		require.True(t, fits)
		require.Equal(t, d, back)
	}
	_, fits := durationOf(1<<40, 0)
	require.False(t, fits)
}

// TestScalarsRefused: what Java has no value for is no value of Go's types either.
func TestScalarsRefused(t *testing.T) {
	for _, name := range []Name{NameKryo5, NameMarshalling, NameSerialization} {
		c, err := ByName(name, colorClass)
		require.NoError(t, err)
		for _, value := range []any{
			Decimal("twelve"), LocalDate{2023, 2, 29}, LocalDate{}, LocalTime{Hour: 24}, LocalDateTime{LocalDate{2024, 13, 1}, LocalTime{}},
			OffsetDateTime{LocalDateTime{leapDay, LocalTime{}}, 18*3600 + 1}, Locale{Language: "dé"}, color("PINK"),
		} {
			_, err = c.Encode(value)
			require.ErrorAs(t, err, new(*ValueError), "%v", value)
		}
	}
	for _, value := range []any{time.Second, Period{}, LocalDate{2024, 1, 1}} {
		c, err := ByName(NameJSON)
		require.NoError(t, err)
		_, err = c.Encode(value)
		require.ErrorAs(t, err, new(*TypeError), "%v", value)
	}
}
