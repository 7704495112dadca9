// Package main: what a Kubernetes cluster is made of, in one program for tests: etcd, the API
// server, the scheduler, the controllers and a kubelet. The first argument picks.
package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func addresses(text string) ([]url.URL, error) {
	address, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	return []url.URL{*address}, nil
}

// etcd FOLDER CLIENT-URL PEER-URL
func etcd(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: etcd FOLDER CLIENT-URL PEER-URL")
	}
	clients, err := addresses(args[1])
	if err != nil {
		return err
	}
	peers, err := addresses(args[2])
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = filepath.Join(args[0], "etcd")
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	config.ListenPeerUrls, config.AdvertisePeerUrls = peers, peers
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true
	config.LogLevel = "warn"
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}

func run(what string, args []string) error {
	var command *cobra.Command
	switch what {
	case "etcd":
		return etcd(args)
	case "kubelet":
		return kubelet(args)
	case "apiserver":
		command = apiserver.NewAPIServerCommand()
	case "scheduler":
		command = scheduler.NewSchedulerCommand()
	case "manager":
		command = manager.NewControllerManagerCommand()
	default:
		return fmt.Errorf("no server is called %s", what)
	}
	os.Args = append([]string{what}, args...)
	os.Exit(cli.Run(command))
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: servers etcd|apiserver|scheduler|manager|kubelet ...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
