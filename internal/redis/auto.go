package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis/embedded"
)

// startAuto takes the first form that works and says so in one line, with what
// kept the better ones from working.
func startAuto(ctx context.Context, notice func(string)) (*Server, error) {
	var missed []string
	for _, form := range []func() (*Server, error){
		func() (*Server, error) { return startContainer(ctx, "") },
		func() (*Server, error) { return StartProcess(ctx, "") },
		func() (*Server, error) { return startEmbedded(ctx) },
	} {
		s, err := form()
		if err == nil {
			notice(autoNotice(s, missed))
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		missed = append(missed, brief(err))
	}
	return nil, fmt.Errorf("no Redis can be had here: %s", strings.Join(missed, "; "))
}

// startEmbedded starts the imitation in this process.
func startEmbedded(ctx context.Context) (*Server, error) {
	e, err := embedded.Start(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: e.Addr(), How: "embedded", address: Address{Hosts: []string{e.Addr()}}, closer: e.Close}
	if err := s.identify(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func autoNotice(s *Server, missed []string) string {
	line := fmt.Sprintf("redis: %s (%s %s) on %s", s.How, s.Product, s.Version, s.Addr)
	if s.Embedded() {
		line += "; figures do not stand for a real Redis"
	}
	for _, m := range missed {
		line += "; " + m
	}
	return line
}

// brief is an error's short form where it has one: the notice of auto is one line.
func brief(err error) string {
	var b interface{ Brief() string }
	if errors.As(err, &b) {
		return b.Brief()
	}
	return (&oneLine{err}).Error()
}
