package topology

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// etcdUser sends the token of a user with each request. It asks for another token when a server refuses a request because of its token.
// There is none yet, it has expired, or the users have changed. A request that was refused was not executed, so it is sent again.
//
// Package clientv3 3.7.3 asks for tokens as well, with three defects. It asks for the next token with the one that has expired. etcd 3.4
// refuses that, and each request fails from then on. It opens new watches on a stream whose token has expired, and etcd refuses them. It
// sends the password for each stream, for which a server computes for a tenth of a second.
type etcdUser struct {
	name, password string
	auth           clientv3.Auth // of the client that has the options

	replacing sync.Mutex
	token     atomic.Pointer[etcdToken]
}

type etcdToken struct {
	text  string    // empty: none was needed yet
	asked time.Time // when this one, or one instead of it, was last asked for
}

const authenticate = "/etcdserverpb.Auth/Authenticate"

// options are what makes a client that of the user.
func (u *etcdUser) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithPerRPCCredentials(u), grpc.WithChainUnaryInterceptor(u.request), grpc.WithChainStreamInterceptor(u.stream),
	}
}

// GetRequestMetadata implements [credentials.PerRPCCredentials]. A request for a token is sent without one.
func (u *etcdUser) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token := u.current()
	if info, _ := credentials.RequestInfoFromContext(ctx); token == "" || info.Method == authenticate {
		return nil, nil
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials].
func (*etcdUser) RequireTransportSecurity() bool { return false }

// current is the token that is sent now.
func (u *etcdUser) current() string {
	if token := u.token.Load(); token != nil {
		return token.text
	}
	return ""
}

// replace asks for another token, unless that was done since refused was sent.
func (u *etcdUser) replace(ctx context.Context, refused string) error {
	u.replacing.Lock()
	defer u.replacing.Unlock()
	if u.current() != refused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	next := &etcdToken{refused, time.Now()}
	reply, err := u.auth.Authenticate(ctx, u.name, u.password)
	if err == nil {
		next.text = reply.Token
	}
	u.token.Store(next)
	return err
}

// request sends a request again when its token was refused.
func (u *etcdUser) request(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	used := u.current()
	err := invoke(ctx, method, request, reply, conn, options...)
	if method == authenticate || !tokenRefused(err) {
		return err
	}
	if err := u.replace(ctx, used); err != nil {
		return err
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// stream opens a stream that ends when its token is refused.
func (u *etcdUser) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	ctx, end := context.WithCancel(ctx)
	used := u.current()
	opened, err := open(ctx, desc, conn, method, options...)
	if err != nil {
		end()
		return nil, err
	}
	return &etcdStream{opened, u, used, ctx, end}, nil
}

// etcdStream ends with the code Unavailable when the token that it was opened with is refused. Then package clientv3 opens another stream,
// and goes on there with every watch of this one from where it was.
type etcdStream struct {
	grpc.ClientStream
	user *etcdUser
	used string          // the token
	ctx  context.Context // of the caller: that of the ClientStream ends with an error
	end  context.CancelFunc
}

// tokenPause is the shortest time between two tokens that streams ask for. No token helps where the user has no right to read the key.
const tokenPause = time.Second

func (s *etcdStream) RecvMsg(reply any) error {
	err := s.ClientStream.RecvMsg(reply)
	watch, _ := reply.(*pb.WatchResponse)
	if tokenRefused(err) || err == nil && watch != nil && watch.Created && watch.Canceled && watchRefused(watch.CancelReason) {
		err = status.Error(codes.Unavailable, cmp.Or(s.replace(), errors.New("its token was refused")).Error())
	}
	if err != nil {
		s.end()
	}
	return err
}

// replace replaces the stream's token.
func (s *etcdStream) replace() error {
	if token := s.user.token.Load(); token != nil && token.text == s.used {
		select {
		case <-time.After(time.Until(token.asked.Add(tokenPause))):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return s.user.replace(s.ctx, s.used)
}

// tokenRefused reports whether a server refused a request because of its token.
func tokenRefused(err error) bool {
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthOldRevision) ||
		errors.Is(err, rpctypes.ErrUserEmpty)
}

// watchRefused reports whether a watch was refused, perhaps because of its stream's token. etcd 3.4.13 says "permission denied" then, too
// (etcd-io/etcd#12385).
func watchRefused(reason string) bool {
	return slices.ContainsFunc([]error{
		rpctypes.ErrGRPCInvalidAuthToken, rpctypes.ErrGRPCAuthOldRevision, rpctypes.ErrGRPCUserEmpty, rpctypes.ErrGRPCPermissionDenied,
	}, func(refusal error) bool { return reason == refusal.Error() })
}
