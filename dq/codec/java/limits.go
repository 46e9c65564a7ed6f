package java

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of classes of the JDK. Java fails to read a value beyond them.

// instantOf fails beyond the range of java.time.Instant.
func instantOf(seconds, nanos int64) (time.Time, error) {
	const least, most = -31_557_014_167_219_200, 31_556_889_864_403_199
	if seconds < least || seconds > most || nanos < 0 || nanos >= 1e9 {
		return time.Time{}, fmt.Errorf("a java.time.Instant of %d s and %d ns, which Java has not", seconds, nanos)
	}
	return time.Unix(seconds, nanos).UTC(), nil
}

// currencies are the codes that JDK 17 knows.
const currencies = `ADP AED AFA AFN ALL AMD ANG AOA ARS ATS AUD AWG AYM AZM AZN BAM BBD BDT BEF BGL BGN BHD BIF BMD BND BOB BOV BRL BSD
BTN BWP BYB BYN BYR BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CSD CUC CUP CVE CYP CZK DEM DJF DKK DOP DZD EEK EGP ERN ESP ETB EUR FIM
FJD FKP FRF GBP GEL GHC GHS GIP GMD GNF GRD GTQ GWP GYD HKD HNL HRK HTG HUF IDR IEP ILS INR IQD IRR ISK ITL JMD JOD JPY KES KGS KHR KMF KPW
KRW KWD KYD KZT LAK LBP LKR LRD LSL LTL LUF LVL LYD MAD MDL MGA MGF MKD MMK MNT MOP MRO MRU MTL MUR MVR MWK MXN MXV MYR MZM MZN NAD NGN NIO
NLG NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PTE PYG QAR ROL RON RSD RUB RUR RWF SAR SBD SCR SDD SDG SEK SGD SHP SIT SKK SLE SLL SOS SRD SRG
SSP STD STN SVC SYP SZL THB TJS TMM TMT TND TOP TPE TRL TRY TTD TWD TZS UAH UGX USD USN USS UYI UYU UZS VEB VED VEF VES VND VUV WST XAF XAG
XAU XBA XBB XBC XBD XCD XCG XDR XFO XFU XOF XPD XPF XPT XSU XTS XUA XXX YER YUM ZAR ZMK ZMW ZWD ZWG ZWL ZWN ZWR`

// The text of a locale is its language, country and variant. Kryo5 has no script.
var localeText = regexp.MustCompile(`^[a-z]{0,8}(_([A-Z]{2}|\d{3}))?$|^[a-z]{0,8}_([A-Z]{2}|\d{3})?_[^#]+$`)

// uriText is what java.net.URI accepts: RFC 2396, and characters outside ASCII except spaces and controls.
var uriText = func() *regexp.Regexp {
	const (
		char      = `(?:[\w.!~'()*;:@&=+$,-]|%[0-9A-Fa-f]{2}|[^\x00-\x{9f}\p{Z}])`
		noColon   = `(?:[\w.!~'()*;@&=+$,-]|%[0-9A-Fa-f]{2}|[^\x00-\x{9f}\p{Z}])`
		path      = `(?:` + char + `|/)*`
		all       = `(?:` + char + `|[/?\[\]])*`
		scheme    = `[A-Za-z][A-Za-z0-9+.-]*:`
		authority = `//(?:` + char + `+|(?:` + char + `*@)?\[([0-9A-Fa-f:.]+)\](?::\d{0,9})?)`
		absolute  = `(?:` + authority + `(?:/` + path + `)?|///` + path + `|/(?:` + char + path + `)?)`
		relative  = `(?:` + noColon + `+(?:/` + path + `)?)?`
	)
	return regexp.MustCompile(`^(?:` + scheme + `(?:` + char + `|[?\[\]])` + all + `|(?:(?:` + scheme + `)?` + absolute + `|` + relative + `)(?:\?` + all + `)?)(?:#` + all + `)?$`)
}()

// textProblem returns why Java does not read the text of a class, or "".
func textProblem(s *scalar, text string) string {
	switch parts := uriText.FindStringSubmatch(text); s.class {
	case "java.util.Currency":
		if !slices.Contains(strings.Fields(currencies), text) {
			return "expected a code of ISO 4217 that JDK 17 knows"
		}
	case "java.util.Locale":
		if !localeText.MatchString(text) {
			return "expected a text as toString writes it, without a script, such as de_DE"
		}
	case "java.net.URI":
		if _, err := netip.ParseAddr(strings.Join(parts[min(1, len(parts)):], "")); parts == nil || parts[1] != "" && err != nil {
			return "expected a URI of RFC 2396"
		}
	}
	return ""
}
