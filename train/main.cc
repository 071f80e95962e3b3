#include "train/command_line.h"

int main(int argc, char** argv) { return qkv::run_command_line(argc, argv); }
