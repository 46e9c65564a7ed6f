package migrate

import (
	"context"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/values"
)

// ByJava returns a Recode that asks Java. class is the class of values of typed-json.
func ByJava(java *values.Client, from, to, class string) func(context.Context, [][]byte) ([]Outcome, error) {
	return func(ctx context.Context, all [][]byte) ([]Outcome, error) {
		requests := make([]values.Request, len(all))
		for i, value := range all {
			requests[i] = values.Request{"verb": "recode", "codec": from, "to": to, "class": class, "value": value}
		}
		replies, err := java.Do(ctx, requests...)
		outcomes := make([]Outcome, len(replies))
		for i, r := range replies {
			if r.Was != r.Becomes {
				outcomes[i].Example = fmt.Sprintf("%.200s becomes %.200s", r.Was, r.Becomes)
				r.Was, r.Becomes = "", ""
			}
			if err := r.Err(); err != nil {
				outcomes[i].Reason = err.Error()
			}
			outcomes[i].Value = r.Value
		}
		return outcomes, err
	}
}
