package program

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// remoteValue is an element, of type bytes or string.
type remoteValue struct {
	Type  string          `json:"t"`
	Value json.RawMessage `json:"v"`
}

// element gives a value the type that the codec wants.
func (q *remoteQueue) element(value []byte) (remoteValue, error) {
	var content any = value // in base64
	if q.codec == "string" {
		content = string(value)
	}
	encoded, err := json.Marshal(content)
	return remoteValue{q.codec, encoded}, err
}

// decodeRemoteValue reads a value of type string or bytes.
func decodeRemoteValue(op string, answer json.RawMessage) (value []byte, err error) {
	var element remoteValue
	if err = json.Unmarshal(answer, &element); err == nil {
		switch element.Type {
		case "string":
			var text string
			err = json.Unmarshal(element.Value, &text)
			value = []byte(text)
		case "bytes":
			err = json.Unmarshal(element.Value, &value)
		default:
			err = fmt.Errorf("the type is %q", element.Type)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: expected a string, or bytes in base64, got %.120s: %w", op, answer, err)
	}
	return value, nil
}

// Offer calls dq.offer.
func (q *remoteQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	element, err := q.element(value)
	if err != nil {
		return err
	}
	_, err = q.program.Call(ctx, remoteOffer, map[string]any{"handle": q.handle, "value": element, "delay": delay.Milliseconds()})
	return err
}

// Take calls q.take.
func (q *remoteQueue) Take(ctx context.Context) ([]byte, error) {
	answer, err := q.program.Call(ctx, remoteTake, map[string]string{"handle": q.handle})
	if err != nil {
		return nil, err
	}
	return decodeRemoteValue(remoteTake, answer)
}

// Poll calls q.poll without a timeout.
func (q *remoteQueue) Poll(ctx context.Context) ([]byte, bool, error) {
	answer, err := q.program.Call(ctx, "q.poll", map[string]string{"handle": q.handle})
	if err != nil || len(answer) == 0 || string(answer) == "null" {
		return nil, false, err
	}
	value, err := decodeRemoteValue("q.poll", answer)
	return value, err == nil, err
}

// Remove calls dq.remove.
func (q *remoteQueue) Remove(ctx context.Context, value []byte) (removed bool, err error) {
	element, err := q.element(value)
	if err != nil {
		return false, err
	}
	answer, err := q.program.Call(ctx, "dq.remove", map[string]any{"handle": q.handle, "value": element})
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(answer, &removed); err != nil {
		return false, fmt.Errorf("dq.remove: expected true or false, got %.60s", answer)
	}
	return removed, nil
}
