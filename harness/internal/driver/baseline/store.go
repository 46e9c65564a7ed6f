package baseline

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// tempStore is the store of List and ZSet.
type tempStore struct {
	client redis.UniversalClient
	keys   tempKeys
	source storeSource
}

// storeSource reads the key that messages are offered to.
type storeSource struct {
	length func(ctx context.Context, client redis.Cmdable, key string) (int64, error)
	values func(ctx context.Context, client redis.Cmdable, key string) ([]string, error)
}

var (
	listSource = storeSource{
		func(ctx context.Context, c redis.Cmdable, key string) (int64, error) {
			return c.LLen(ctx, key).Result()
		},
		func(ctx context.Context, c redis.Cmdable, key string) ([]string, error) {
			return c.LRange(ctx, key, 0, -1).Result()
		},
	}
	zsetSource = storeSource{
		func(ctx context.Context, c redis.Cmdable, key string) (int64, error) {
			return c.ZCard(ctx, key).Result()
		},
		func(ctx context.Context, c redis.Cmdable, key string) ([]string, error) {
			return c.ZRange(ctx, key, 0, -1).Result()
		},
	}
)

func (s *tempStore) Held(ctx context.Context) (int64, error) {
	held, err := s.source.length(ctx, s.client, s.keys.source)
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", s.keys.source, err)
	}
	temps, err := s.temps(ctx)
	if err != nil {
		return 0, err
	}
	for _, key := range temps {
		n, err := s.client.LLen(ctx, key).Result()
		if err != nil {
			return 0, fmt.Errorf("length of temp list %q: %w", key, err)
		}
		held += n
	}
	return held, nil
}

// Values reads the source before the temp lists, as messages go.
func (s *tempStore) Values(ctx context.Context, each func(value []byte)) error {
	values, err := s.source.values(ctx, s.client, s.keys.source)
	if err != nil {
		return fmt.Errorf("read queue %q: %w", s.keys.source, err)
	}
	temps, err := s.temps(ctx)
	if err != nil {
		return err
	}
	for _, key := range temps {
		more, err := s.client.LRange(ctx, key, 0, -1).Result()
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
		if err := s.client.Del(ctx, key).Err(); err != nil {
			return fmt.Errorf("delete key %q: %w", key, err)
		}
	}
	return nil
}

// temps returns the keys of all temp lists, those of dead processes included.
func (s *tempStore) temps(ctx context.Context) ([]string, error) {
	ids, err := s.client.ZRange(ctx, s.keys.leases(), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("temp lists of queue %q: %w", s.keys.source, err)
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.keys.temp(id)
	}
	return keys, nil
}
