package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// maxSocketPath is the longest path a unix socket may have on every system that Go supports.
const maxSocketPath = 103

// startEtcd starts an etcd with one member. It listens on unix sockets only, so it needs no ports and no other process
// reaches it. No data survives Stop, so it does not call fsync.
func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	client := cp.path("etcd.sock")
	peer := cp.path("peer.sock")
	if len(peer) > maxSocketPath {
		return fmt.Errorf("socket path %s is longer than %d characters: set TMPDIR to a shorter directory",
			peer, maxSocketPath)
	}

	config := embed.NewConfig()
	config.Dir = cp.path("etcd")
	config.LogOutputs = []string{cp.path("log")}
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: client}}
	config.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: peer}}

	// The advertised address must be host:port. Nobody dials it, because the member has no peers.
	advertised := url.URL{Scheme: "http", Host: "127.0.0.1:2380"}
	config.AdvertiseClientUrls = []url.URL{advertised}
	config.AdvertisePeerUrls = []url.URL{advertised}
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}

	cp.etcd = etcd.Server
	cp.atStop(etcd.Close)

	select {
	case <-etcd.Server.ReadyNotify():
		return nil
	case err := <-etcd.Err():
		return err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("not ready after 30s")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// FillDisk makes etcd refuse writes until FreeDisk, as if its space were used up. Reads and deletions still work.
func (cp *ControlPlane) FillDisk(ctx context.Context) error {
	return cp.alarm(ctx, etcdserverpb.AlarmRequest_ACTIVATE)
}

// FreeDisk undoes FillDisk.
func (cp *ControlPlane) FreeDisk(ctx context.Context) error {
	return cp.alarm(ctx, etcdserverpb.AlarmRequest_DEACTIVATE)
}

// alarm raises etcd's alarm about space, or ends it.
func (cp *ControlPlane) alarm(ctx context.Context, action etcdserverpb.AlarmRequest_AlarmAction) error {
	_, err := cp.etcd.Alarm(ctx, &etcdserverpb.AlarmRequest{
		MemberID: uint64(cp.etcd.MemberID()), Action: action, Alarm: etcdserverpb.AlarmType_NOSPACE,
	})
	return err
}
