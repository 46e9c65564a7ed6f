package java

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// moment is the content of a java.time value, between its bytes and its text. The layout of a class names its parts in the
// order of its text: y, m and a are a year, month and day, t is a time, o an offset, z a zone, p a period of years, months and
// days. Other letters are text between parts.
type moment struct {
	year, month, day, hour, minute, second, nano int32
	offset                                       int32 // seconds ahead of UTC
	zone                                         string
}

const maxYear = 999_999_999

// momentParts has the text of each part, and the ranges of its numbers, which start at one of the numbers of a moment.
var momentParts = map[rune]struct {
	text   string
	first  int
	ranges [][2]int32
}{
	'y': {`([+-]?\d+)`, 0, [][2]int32{{-maxYear, maxYear}}},
	'm': {`(\d\d)`, 1, [][2]int32{{1, 12}}},
	'a': {`(\d\d)`, 2, [][2]int32{{1, 31}}},
	't': {`(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3,9}))?)?`, 3, [][2]int32{{0, 23}, {0, 59}, {0, 59}, {0, 1e9 - 1}}},
	'o': {`(Z|[+-][\d:]+)`, 0, nil},
	'z': {`(?:\[(.+)])?`, 0, nil},
	'p': {`P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?`, 0, [][2]int32{{math.MinInt32, math.MaxInt32}, {math.MinInt32, math.MaxInt32}, {math.MinInt32, math.MaxInt32}}},
}

// numbers returns the numbers of a part.
func (m *moment) numbers(part rune) []*int32 {
	all, p := [...]*int32{&m.year, &m.month, &m.day, &m.hour, &m.minute, &m.second, &m.nano}, momentParts[part]
	return all[p.first : p.first+len(p.ranges)]
}

// text is toString.
func (m moment) text(layout string) string {
	var b strings.Builder
	for _, part := range layout {
		switch part {
		case 'y':
			year := yearText(m.year)
			if layout == "y" {
				year = strconv.Itoa(int(m.year))
			}
			b.WriteString(year)
		case 'm', 'a':
			fmt.Fprintf(&b, "%02d", *m.numbers(part)[0])
		case 't':
			fmt.Fprintf(&b, "%02d:%02d", m.hour, m.minute)
			if m.second > 0 || m.nano > 0 {
				fmt.Fprintf(&b, ":%02d", m.second)
			}
			if m.nano > 0 {
				fraction := strings.TrimSuffix(fmt.Sprintf(".%09d", m.nano), "000")
				b.WriteString(strings.TrimSuffix(fraction, "000"))
			}
		case 'o':
			b.WriteString(offsetText(m.offset))
		case 'z':
			if m.zone != offsetText(m.offset) {
				b.WriteString("[" + m.zone + "]")
			}
		case 'p':
			b.WriteString(periodText(m.year, m.month, m.day))
		default:
			b.WriteRune(part)
		}
	}
	return b.String()
}

func yearText(year int32) string {
	switch {
	case year > 9999:
		return fmt.Sprintf("+%d", year)
	case year < 0:
		return fmt.Sprintf("-%04d", -year)
	}
	return fmt.Sprintf("%04d", year)
}

func periodText(years, months, days int32) string {
	text := "P"
	for i, n := range []int32{years, months, days} {
		if n != 0 {
			text += fmt.Sprintf("%d%c", n, "YMD"[i])
		}
	}
	if text == "P" {
		return "P0D"
	}
	return text
}

// offsetText is the id of a java.time.ZoneOffset.
func offsetText(seconds int32) string {
	if seconds == 0 {
		return "Z"
	}
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		text += fmt.Sprintf(":%02d", seconds%60)
	}
	return text
}

// valid fails for a moment outside the ranges of java.time.
func (m moment) valid(layout string) error {
	ok := -18*3600 <= m.offset && m.offset <= 18*3600 && (m.zone != "" || !strings.HasSuffix(layout, "z"))
	for _, part := range layout {
		for i, n := range m.numbers(part) {
			ok = ok && momentParts[part].ranges[i][0] <= *n && *n <= momentParts[part].ranges[i][1]
		}
		if part == 'a' && ok {
			ok = int(m.day) <= time.Date(int(m.year), time.Month(m.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		}
	}
	if !ok {
		return fmt.Errorf("expected a value of java.time, got %+v", m)
	}
	return nil
}

// momentTexts has a pattern for the text of each layout.
var momentTexts = func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for _, s := range scalars {
		pattern := "^"
		for _, part := range s.layout {
			pattern += cmp.Or(momentParts[part].text, string(part))
		}
		all[s.layout] = regexp.MustCompile(pattern + "$")
	}
	return all
}()

// parseMoment is the reverse of text.
func parseMoment(text, layout string) (m moment, err error) {
	found := append(momentTexts[layout].FindStringSubmatch(text), "")[1:]
	for _, part := range layout {
		if len(found) == 0 {
			break
		}
		for _, n := range m.numbers(part) {
			digits := cmp.Or(found[0], "0")
			if n == &m.nano {
				digits = (digits + "00000000")[:9]
			}
			value, _ := strconv.ParseInt(digits, 10, 32) // one out of range gives another text
			*n, found = int32(value), found[1:]
		}
		switch part {
		case 'o':
			m.offset, err = parseOffset(found[0])
			found = found[1:]
		case 'z':
			m.zone = cmp.Or(found[0], offsetText(m.offset))
		}
	}
	if err == nil {
		err = m.valid(layout)
	}
	if err != nil || m.text(layout) != text {
		return m, fmt.Errorf("expected a text as toString of java.time writes it, such as %q, got %.60q", moment{2024, 2, 29, 13, 5, 7, 0, 3600, "Europe/Berlin"}.text(layout), text)
	}
	return m, nil
}

// otherZones are names that Go has and Java has not.
var otherZones = regexp.MustCompile(`^(right/|posix)|^(EST|HST|MST|ROC|Factory|localtime|Local)$`)

var zonePrefix = regexp.MustCompile(`^(UTC|GMT|UT)\b`)

func parseOffset(id string) (seconds int32, err error) {
	for _, layout := range []string{"Z07:00", "Z07:00:00"} {
		at, err := time.Parse(layout, id)
		if err == nil {
			_, offset := at.Zone()
			return int32(offset), nil
		}
	}
	return 0, fmt.Errorf("expected an offset, got %.20q", id)
}

// inZone sets the offset of the zone at the date and time, which Kryo5 does not write. If clocks go back, Java takes the
// earlier of the two instants. It fails for a zone that this machine does not know, and for a time that clocks skip.
func (m *moment) inZone() error {
	id := zonePrefix.ReplaceAllString(m.zone, "")
	switch len(id) {
	case 2: // +1
		id = id[:1] + "0" + id[1:] + ":00"
	case 3:
		id += ":00"
	}
	if offset, err := parseOffset(id); err == nil {
		m.offset = offset
		return nil
	}
	place, err := time.LoadLocation(m.zone)
	if err != nil || otherZones.MatchString(m.zone) {
		return fmt.Errorf("this machine does not know the time zone %.60q; install its tzdata, or import time/tzdata", m.zone)
	}
	in := func(place *time.Location) time.Time {
		return time.Date(int(m.year), time.Month(m.month), int(m.day), int(m.hour), int(m.minute), int(m.second), 0, place)
	}
	local := in(time.UTC)
	_, before := local.AddDate(0, 0, -1).In(place).Zone()
	_, offset := local.Add(-time.Duration(before) * time.Second).In(place).Zone()
	if offset != before {
		_, offset = in(place).Zone()
	}
	if _, then := local.Add(-time.Duration(offset) * time.Second).In(place).Zone(); then != offset {
		return fmt.Errorf("clocks in %s skip the time %s", m.zone, local.Format("2006-01-02T15:04:05"))
	}
	m.offset = int32(offset)
	return nil
}

// moment reads the parts of a layout. Kryo and Java's streams write integers, the seconds of an offset, and zones differently.
func (r *reader) moment(layout string, integer, seconds func() int32, zone func() string) (m moment) {
	for _, part := range layout {
		switch part {
		case 't':
			r.time(&m, integer)
		case 'o':
			m.offset = r.offset(seconds)
		case 'z':
			m.zone = zone()
		default:
			for _, n := range m.numbers(part) {
				if part == 'p' || n == &m.year {
					*n = integer()
				} else {
					*n = int32(r.byte())
				}
			}
		}
	}
	return m
}

// time reads a LocalTime: its last part that is not zero is marked.
func (r *reader) time(m *moment, integer func() int32) {
	for _, part := range []*int32{&m.hour, &m.minute, &m.second} {
		*part = int32(int8(r.byte()))
		if *part < 0 {
			*part = ^*part
			return
		}
	}
	m.nano = integer()
}

// offset reads an offset in quarters of an hour, or in seconds.
func (r *reader) offset(seconds func() int32) int32 {
	if quarters := int8(r.byte()); quarters != 127 {
		return int32(quarters) * 900
	}
	return seconds()
}
