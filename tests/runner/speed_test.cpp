#include "stand.hpp"
