// The declarations that ship with Berth, as text of docs/kinds.md's form: one source file for each system.
#pragma once

#include <string_view>

namespace berth::dialect {

std::string_view declared_ray();
std::string_view declared_kubeflow();
std::string_view declared_mpi();
std::string_view declared_leader_worker();
std::string_view declared_app_wrapper();
std::string_view declared_spark();

}  // namespace berth::dialect
