package dq

import (
	"fmt"
	"reflect"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Replies of a server in the form a call needs them. A nil reply means
// nothing found.

func replyInt(reply any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("expected an integer from the server, got %T", reply)
	}
	return n, nil
}

func replyBool(reply any, err error) (bool, error) {
	n, err := replyInt(reply, err)
	return n > 0, err
}

// replyValue decodes one value; nil is ErrEmpty.
func replyValue[T any](c codec.Codec[T], reply any, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if reply == nil {
		return none, ErrEmpty
	}
	text, ok := reply.(string)
	if _, plain := any(c).(codec.String); plain && ok {
		if value, ok := reply.(T); ok {
			return value, nil
		}
	}
	if !ok {
		return none, fmt.Errorf("expected a string from the server, got %T", reply)
	}
	value, err := c.Decode([]byte(text))
	if err != nil {
		return value, &DecodeError{Data: []byte(text), Err: err}
	}
	return value, nil
}

func replyList(reply any, err error) ([]any, error) {
	if err != nil || reply == nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("expected an array from the server, got %T", reply)
	}
	return list, nil
}

// encodeOffered encodes a value that is to be queued. A nil []byte is no bytes.
func encodeOffered[T any](c codec.Codec[T], value T) ([]byte, error) {
	if isNull(value) {
		return nil, ErrNilValue
	}
	return c.Encode(value)
}

// isNull reports whether a value is null in Java, or holds nothing else.
func isNull(value any) bool {
	if kept, ok := value.(interface{ Unwrap() any }); ok {
		return isNull(kept.Unwrap())
	}
	r := reflect.ValueOf(value)
	return isNil(value) || r.Kind() == reflect.Slice && r.IsNil() && r.Type().Elem().Kind() != reflect.Uint8
}

// in adds the operation to an error; ErrEmpty and ErrClosed stay as they
// are, because they are answers.
func in(operation, queue string, err error) error {
	if err == nil || err == ErrEmpty || err == ErrClosed { //nolint:errorlint // these very values
		return err
	}
	return fmt.Errorf("dq: %s of %q: %w", operation, queue, err)
}
