package driver

import (
	"context"
	"encoding/json"
	"fmt"
)

// Poll calls q.poll without a timeout.
func (q *remoteQueue) Poll(ctx context.Context) ([]byte, bool, error) {
	answer, err := q.program.Call(ctx, "q.poll", map[string]string{"handle": q.handle})
	if err != nil || string(answer) == "null" {
		return nil, false, err
	}
	value, err := decodeRemoteValue("q.poll", answer)
	return value, err == nil, err
}

// Remove calls dq.remove.
func (q *remoteQueue) Remove(ctx context.Context, value []byte) (bool, error) {
	element, err := q.element(value)
	if err != nil {
		return false, err
	}
	answer, err := q.program.Call(ctx, "dq.remove", map[string]any{"handle": q.handle, "value": element})
	if err != nil {
		return false, err
	}
	var removed bool
	if err := json.Unmarshal(answer, &removed); err != nil {
		return false, fmt.Errorf("dq.remove: expected true or false, got %.120s", answer)
	}
	return removed, nil
}

// element is value as the queue's codec takes it.
func (q *remoteQueue) element(value []byte) (remoteValue, error) {
	var content any = value // in base64
	if q.codec == "string" {
		content = string(value)
	}
	encoded, err := json.Marshal(content)
	return remoteValue{q.codec, encoded}, err
}

func decodeRemoteValue(op string, answer json.RawMessage) ([]byte, error) {
	var element remoteValue
	if err := json.Unmarshal(answer, &element); err != nil {
		return nil, fmt.Errorf("%s: expected a value, got %.120s: %w", op, answer, err)
	}
	if element.Type == "string" {
		var text string
		err := json.Unmarshal(element.Value, &text)
		return []byte(text), err
	}
	var value []byte
	if err := json.Unmarshal(element.Value, &value); err != nil {
		return nil, fmt.Errorf("%s: expected bytes in base64, got %.120s: %w", op, answer, err)
	}
	return value, nil
}
