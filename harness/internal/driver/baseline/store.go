package baseline

import (
	"context"
	"fmt"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// tempStore is the store of List and ZSet.
type tempStore struct {
	conn   redis.Conn
	keys   tempKeys
	source storeSource
}

// storeSource is how to read the key that messages are offered to.
type storeSource struct{ length, values string }

var (
	listSource = storeSource{"LLEN", "LRANGE"}
	zsetSource = storeSource{"ZCARD", "ZRANGE"}
)

func (s *tempStore) Held(ctx context.Context) (int64, error) {
	held, err := s.conn.Do(ctx, s.source.length, s.keys.source).Int64()
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", s.keys.source, err)
	}
	temps, err := s.temps(ctx)
	if err != nil {
		return 0, err
	}
	for _, key := range temps {
		n, err := s.conn.Do(ctx, "LLEN", key).Int64()
		if err != nil {
			return 0, fmt.Errorf("length of temp list %q: %w", key, err)
		}
		held += n
	}
	return held, nil
}

// Values reads the source before the temp lists, as messages go.
func (s *tempStore) Values(ctx context.Context, each func(value []byte)) error {
	values, err := s.conn.Do(ctx, s.source.values, s.keys.source, 0, -1).StringSlice()
	if err != nil {
		return fmt.Errorf("read queue %q: %w", s.keys.source, err)
	}
	temps, err := s.temps(ctx)
	if err != nil {
		return err
	}
	for _, key := range temps {
		more, err := s.conn.Do(ctx, "LRANGE", key, 0, -1).StringSlice()
		if err != nil {
			return fmt.Errorf("read temp list %q: %w", key, err)
		}
		values = append(values, more...)
	}
	for _, value := range values {
		each([]byte(value))
	}
	return nil
}

func (s *tempStore) Clear(ctx context.Context) error {
	temps, err := s.temps(ctx)
	if err != nil {
		return err
	}
	for _, key := range append(temps, s.keys.source, s.keys.leases()) {
		if err := s.conn.Do(ctx, "DEL", key).Err(); err != nil {
			return fmt.Errorf("delete key %q: %w", key, err)
		}
	}
	return nil
}

// temps returns the keys of all temp lists, those of dead processes included.
func (s *tempStore) temps(ctx context.Context) ([]string, error) {
	ids, err := s.conn.Do(ctx, "ZRANGE", s.keys.leases(), 0, -1).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("temp lists of queue %q: %w", s.keys.source, err)
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.keys.temp(id)
	}
	return keys, nil
}
