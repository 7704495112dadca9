#include "daemon_stand.hpp"
