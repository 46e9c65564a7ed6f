package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
)

// fakeJava answers as JavaValues does, of texts between StringCodec and JsonJacksonCodec; it refuses the text refuse.
func fakeJava() {
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			ID              int
			Verb, Codec, To string
			Value           []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			panic(err)
		}
		answer := map[string]any{"id": request.ID, "ok": true}
		text := string(request.Value)
		switch plain, err := strconv.Unquote(text); {
		case request.Verb == "hello":
			answer["java"], answer["old"], answer["new"] = "17", "3.16.6", "4.7.0"
			answer["old_codecs"], answer["new_codecs"] = []string{"string", "json", "marshalling"}, []string{"string", "json", "kryo5"}
		case request.Verb == "decode":
			answer["json"] = json.RawMessage(`{"orderId":` + text[len(text)-1:] + `}`)
		case text == "refuse":
			answer["ok"], answer["reason"], answer["was"], answer["becomes"] = false, "it would be read as another value", text, "refused"
		case request.Codec == "json" && err == nil:
			answer["value"] = []byte(plain)
		case request.To == "json":
			answer["value"] = []byte(strconv.Quote(text))
		default:
			answer["ok"], answer["reason"] = false, "no such value"
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}
