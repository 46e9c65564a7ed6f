package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// entity is the document's RedisDataEntity: a value, its delay in ms and when it
// was added, Unix ms. Data is an Object in Java, the two others are Longs.
type entity struct {
	Data   any    `json:"data"`
	Expire *int64 `json:"expire"`
	Time   *int64 `json:"time"`
}

func newEntity(data string, expire int64, added time.Time) entity {
	at := added.UnixMilli()
	return entity{Data: data, Expire: &expire, Time: &at}
}

// attributes are the entity for a log line, and how long it took until now. What
// another service left out is left out.
func (e entity) attributes(now time.Time) []any {
	list := []any{slog.Any("data", e.Data)}
	if e.Expire != nil {
		list = append(list, slog.Int64("expire", *e.Expire))
	}
	if e.Time != nil {
		list = append(list, slog.Int64("time", *e.Time), slog.Int64("took_ms", now.UnixMilli()-*e.Time))
	}
	return list
}

// codecNames are the codecs that can hold an entity.
var codecNames = []string{"typed-json", "json", "kryo5", "marshalling", "serialization"}

// newCodec returns the codec of that name. All but typed-json write the Java
// class; marshalling and serialization need its serialVersionUID, too.
func newCodec(name, class string, uid int64) (codec.Codec[entity], error) {
	of := java.Class{Of: entity{}, Name: class, SerialVersionUID: uid}
	switch name {
	case "typed-json":
		return codec.JSON[entity]{}, nil
	case "json":
		return checked(java.NewJackson[entity](java.JSONForm{}, of))
	case "kryo5":
		return checked(java.NewKryo5[entity](of))
	case "marshalling":
		return checked(java.NewMarshalling[entity](of))
	case "serialization":
		return checked(java.NewSerialization[entity](of))
	}
	return nil, fmt.Errorf("--codec: expected one of %s, got %q", joinNames(), name)
}

// checked writes one entity, so that a codec's limits are known at the
// start and not with the first request.
func checked[C codec.Codec[entity]](c C, err error) (codec.Codec[entity], error) {
	if err == nil {
		_, err = c.Encode(newEntity("", 0, time.UnixMilli(0)))
	}
	if err != nil {
		return nil, fmt.Errorf("--codec: %w", err)
	}
	return c, nil
}

func joinNames() string { return strings.Join(codecNames, ", ") }
