package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
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
var codecNames = []codec.Name{
	codec.NameTypedJSON, codec.NameJSON, codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization,
}

// newCodec returns the codec of that name. All but typed-json write the Java
// class; marshalling and serialization need its serialVersionUID, too.
func newCodec(name, class string, uid int64) (codec.Codec[entity], error) {
	of := codec.Class{Of: entity{}, Name: class, SerialVersionUID: uid}
	switch codec.Name(name) {
	case codec.NameTypedJSON:
		return codec.JSON[entity]{}, nil
	case codec.NameJSON:
		return checked(codec.NewJackson[entity](of))
	case codec.NameKryo5:
		return checked(codec.NewKryo5[entity](of))
	case codec.NameMarshalling:
		return checked(codec.NewMarshalling[entity](of))
	case codec.NameSerialization:
		return checked(codec.NewSerialization[entity](of))
	}
	return nil, fmt.Errorf("--codec: expected one of %s, got %q", joinNames(), name)
}

// checked writes one entity, so that what a codec cannot do is known at the
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

func joinNames() string {
	names := make([]string, len(codecNames))
	for i, name := range codecNames {
		names[i] = string(name)
	}
	return strings.Join(names, ", ")
}
