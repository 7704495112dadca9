#pragma once
// Where a released job is to have its instances, as a word at the end of the job's comment: the
// prolog reads it, and a controller that takes over does.
//
//     cleave:1764205000:n1=0@4,0@6;n2=1@0            released then, at these GPUs and starts
//     cleave:1764205000:n1=0@4:was=n[1-3]            and had asked for these nodes itself
//     cleave:was=n[1-3]                              the same, while it waits
//     cleave:was=!n4~n1                              not on n4; Slurm did not start it on n1
//
// Nodes that a user names stand there and not in the job's own list while it waits: Slurm refuses a
// job, and a change of one, whose nodes have less at that moment than it asks for. Those that it is
// not to have stand there since no tool of Slurm's says them. The submit plugin writes these forms,
// and takes no such word in a user's own comment.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace cleave {

/// One instance: the GPU as its node's daemon numbers it, and the start in memory slices.
struct MarkedPlace {
  std::int64_t gpu = 0, start = 0;
  friend bool operator==(const MarkedPlace&, const MarkedPlace&) = default;
};

/// Those on one node.
struct MarkedNode {
  std::string node;
  std::vector<MarkedPlace> places;
  friend bool operator==(const MarkedNode&, const MarkedNode&) = default;
};

/// Nodes as Slurm writes lists, all empty where a job may be anywhere.
struct NodeWish {
  std::string wanted, excluded;  // by its user
  std::string tried;             // Slurm did not start it there, for a reason that is not known
  friend bool operator==(const NodeWish&, const NodeWish&) = default;
};
/// "n[1-3]!n4~n1".
[[nodiscard]] NodeWish parse_wish(std::string_view text);
[[nodiscard]] std::string wish_text(const NodeWish& wish);

/// The mark of a job.
struct PlaceMark {
  Instant released;
  std::vector<MarkedNode> nodes;
  NodeWish was;
  friend bool operator==(const PlaceMark&, const PlaceMark&) = default;
};

/// The mark at the end of a comment; nullopt where there is none.
[[nodiscard]] std::optional<PlaceMark> parse_mark(std::string_view comment);
/// The comment with this mark in the place of any other.
[[nodiscard]] std::string marked(std::string_view comment, const PlaceMark& mark);
/// What a job that waits asks for.
[[nodiscard]] NodeWish asked_nodes(std::string_view comment);
/// The comment of a job that waits, in the place of any mark.
[[nodiscard]] std::string asking_for(std::string_view comment, const NodeWish& wish);
/// The comment as its user wrote it.
[[nodiscard]] std::string unmarked(std::string_view comment);

}  // namespace cleave
