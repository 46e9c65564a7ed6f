package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// do sends on the control connection.
func (r *run) do(_ context.Context, args ...string) (any, error) { return r.control.do(args...) }

// refuseInUse makes sure that a server that was not started for the replay has no
// other client and none of the recording's keys.
func (r *run) refuseInUse(ctx context.Context) error {
	present, err := r.present()
	if err != nil {
		return err
	}
	if len(present) > 0 {
		return fmt.Errorf("the server has %d of the recording's keys already (%s …): replay would change them; "+
			"take a server without them, such as --redis process", len(present), present[0])
	}
	for _, channel := range r.plan.channels {
		n, err := r.subscribers(channel)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%d clients are subscribed to %q: they would act on what replay sends; "+
				"take another server, such as --redis process", n, channel)
		}
	}
	if r.scripts, err = guest.CachedScripts(ctx, r.do); err != nil {
		return err
	}
	clients, permitted, err := r.strangers(ctx)
	if err != nil {
		return err
	}
	if !permitted {
		r.notes = append(r.notes, "the server does not permit CLIENT LIST: other clients are noticed by their commands only")
	}
	if found := guest.Findings(nil, nil, clients); found != "" {
		return r.inUse(found)
	}
	return nil
}

// strangers are the clients of the server but for the two connections that the
// replay has at its beginning. One in MONITOR mode is the replay's, if it is the
// only one.
func (r *run) strangers(ctx context.Context) (clients []guest.Client, permitted bool, err error) {
	all, _, err := guest.Clients(ctx, r.do)
	if err != nil {
		return nil, false, err
	}
	watching := 0
	for _, c := range all {
		if c.Monitors() {
			watching++
		}
	}
	return guest.Strangers(ctx, r.do, func(c guest.Client) bool {
		return c.Addr == r.controlAddr || c.Monitors() && watching == 1
	})
}

// present returns those of the recording's keys that exist.
func (r *run) present() (present []guest.Key, err error) {
	err = r.eachKey(func(k dbKey) error {
		n, err := integer(r.control.do("EXISTS", k.name))
		if n > 0 {
			present = append(present, guest.Key{DB: k.db, Name: k.name})
		}
		return err
	})
	return present, err
}

func (r *run) inUse(found string) error {
	return &guest.InUseError{Addr: redis.Place(r.target.URL), Found: found}
}

// undisturbed says whether anybody else has sent anything up to now.
func (r *run) undisturbed(ctx context.Context) error {
	_, err := r.awaitMark(ctx, r.control)
	return err
}

// removeShared removes keys of the replay, and its scripts where there were no
// others before: a single one cannot be dropped.
func (r *run) removeShared(ctx context.Context, keys []guest.Key) error {
	err := guest.Remove(ctx, r.do, keys, r.undisturbed)
	if errors.Is(err, guest.ErrChanged) {
		return cmp.Or(r.undisturbed(ctx), r.inUse(err.Error()))
	}
	if err == nil {
		err = r.undisturbed(ctx)
	}
	if err == nil && r.scripts == 0 {
		_, err = r.control.do("SCRIPT", "FLUSH")
	}
	return err
}

// cleanUp removes the keys of the recording, none of which was there before. On a
// server that is not own it does so only if MONITOR has shown nothing of anybody
// else; what it leaves behind is part of the error. It returns err and its own.
func (r *run) cleanUp(ctx context.Context, err error) error {
	r.closePeers()
	present, listed := r.present()
	switch {
	case listed != nil:
	case r.target.Own:
		listed = r.eachKey(func(k dbKey) error { _, err := r.control.do("DEL", k.name); return err })
	case !errors.Is(err, guest.ErrInUse):
		listed = r.removeShared(ctx, present)
	}
	var inUse *guest.InUseError
	if err = errors.Join(err, listed); errors.As(err, &inUse) {
		inUse.Left = r.strange.Untouched(present)
		return inUse
	}
	if listed != nil {
		return errors.Join(err, fmt.Errorf("removing the keys of the replay: if nobody else uses them, %s", guest.RemovalHint(present)))
	}
	return err
}
