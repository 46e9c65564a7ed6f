package program

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/dq"
)

// The ops of a queue as an object: its time to live, its copy, its name.

// conditions are the protocol's names of the forms of expire.
var conditions = map[string]dq.ExpireCondition{
	"": dq.ExpireAlways, "if-set": dq.ExpireIfSet, "if-not-set": dq.ExpireIfNotSet,
	"if-greater": dq.ExpireIfGreater, "if-less": dq.ExpireIfLessThan,
}

func (a arguments) condition() (dq.ExpireCondition, error) {
	name := a.textOr("condition", "")
	condition, ok := conditions[name]
	if !ok {
		return "", fmt.Errorf("condition %q: expected if-set, if-not-set, if-greater or if-less", name)
	}
	return condition, nil
}

func opExpire(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	condition, err := args.condition()
	if err != nil {
		return nil, err
	}
	ttl, err := args.duration("ttl")
	if err != nil {
		return nil, err
	}
	return h.delayed.Expire(ctx, ttl, condition)
}

func opExpireAt(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	condition, err := args.condition()
	if err != nil {
		return nil, err
	}
	at, err := args.number("at")
	if err != nil {
		return nil, err
	}
	return h.delayed.ExpireAt(ctx, time.UnixMilli(at), condition)
}

func opCopy(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	name, err := args.text("name")
	if err != nil {
		return nil, err
	}
	replace, err := args.flagOr("replace", false)
	if err != nil {
		return nil, err
	}
	return h.delayed.Copy(ctx, name, replace)
}

func opRename(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	name, err := args.text("name")
	if err != nil {
		return nil, err
	}
	return nil, h.delayed.Rename(ctx, name)
}

func opRenameNX(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	name, err := args.text("name")
	if err != nil {
		return nil, err
	}
	return h.delayed.RenameNX(ctx, name)
}
