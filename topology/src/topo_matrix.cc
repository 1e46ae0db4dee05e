#include "ditar/config/error.h"
#include "ditar/topology/smi_text.h"
#include "text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

namespace ditar {
namespace {

constexpr std::string_view kWhat = "nvidia-smi topo -m: ";

[[noreturn]] void refuse(const std::string& why) { throw DataError(std::string(kWhat) + why); }

std::optional<int> gpu_index(std::string_view word) {
  if (word.substr(0, 3) != "GPU" || word.size() > 7 || !text::is_number(word.substr(3))) {
    return std::nullopt;
  }
  return std::stoi(std::string(word.substr(3)));
}

bool is_device_word(std::string_view word) {
  if (word.empty() || std::isalpha(static_cast<unsigned char>(word.front())) == 0) return false;
  if (parse_path(word)) return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
           c == ':';
  });
}

struct TailColumn {
  std::string name;
  std::size_t offset = 0;
};

struct Header {
  std::size_t line = 0;  // 1-based
  std::vector<std::string> devices;
  std::vector<TailColumn> tail;  // affinity columns
};

struct Row {
  std::size_t line = 0;
  std::vector<Path> cells;  // as many as were read
  std::vector<std::pair<std::string, std::string>> tail;
};

std::vector<TailColumn> tail_columns(const std::string& line) {
  std::vector<TailColumn> found;
  for (const std::string_view name : {"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"}) {
    const std::size_t at = line.find(name);
    if (at != std::string::npos) found.push_back({std::string(name), at});
  }
  std::sort(found.begin(), found.end(),
            [](const TailColumn& x, const TailColumn& y) { return x.offset < y.offset; });
  return found;
}

/// The line as a header, if it is one: device names and then affinity columns, no path cells.
std::optional<Header> read_header(const std::string& line, std::size_t number) {
  Header header{number, {}, tail_columns(line)};
  const std::size_t matrix_end = header.tail.empty() ? line.size() : header.tail.front().offset;
  header.devices = text::words(std::string_view(line).substr(0, matrix_end));
  const bool has_gpu = std::any_of(header.devices.begin(), header.devices.end(),
                                   [](const std::string& word) { return gpu_index(word); });
  if (!has_gpu) {
    const bool after = std::any_of(header.tail.begin(), header.tail.end(), [&](const auto& column) {
      return line.find("GPU0", column.offset) != std::string::npos;
    });
    if (after) {
      refuse("line " + std::to_string(number) +
             ": the affinity columns stand before the devices, which nvidia-smi never prints; "
             "give its own output");
    }
    return std::nullopt;
  }
  if (!std::all_of(header.devices.begin(), header.devices.end(), is_device_word)) {
    return std::nullopt;
  }
  return header;
}

void check_header(const Header& header) {
  const std::string place = "line " + std::to_string(header.line) + ": ";
  std::set<std::string> seen;
  for (const std::string& device : header.devices) {
    if (device.substr(0, 3) == "GPU" && !gpu_index(device)) {
      refuse(place + "the column name " + text::quote(device) + " is glued or cut");
    }
    if (!seen.insert(device).second) refuse(place + "column " + device + " appears twice");
  }
}

/// Assigns what stands right of the matrix to the affinity columns. Tab-separated rows keep empty
/// cells; in blank-aligned ones the nearest heading wins where cells are missing.
void read_tail(const std::string& line, const Header& header, Row& row) {
  const std::size_t columns = header.tail.size();
  if (columns == 0) return;
  if (line.find('\t') != std::string::npos) {
    const auto fields = text::split(line, '\t');
    std::vector<std::string> rest;
    for (std::size_t i = header.devices.size() + 1; i < fields.size(); ++i) {
      rest.emplace_back(text::trim(fields[i]));
    }
    if (rest.empty()) return;
    row.tail.emplace_back(header.tail[0].name, rest[0]);
    // nvidia-smi puts a second tab before "GPU NUMA ID": skip empty fields after the first.
    std::size_t column = 1;
    for (std::size_t i = 1; i < rest.size() && column < columns; ++i) {
      if (!rest[i].empty()) row.tail.emplace_back(header.tail[column++].name, rest[i]);
    }
    return;
  }
  std::vector<std::pair<std::string, std::size_t>> words;
  std::size_t skip = header.devices.size() + 1;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t start = line.find_first_not_of(' ', i);
    if (start == std::string::npos) break;
    i = std::min(line.find(' ', start), line.size());
    if (skip > 0) {
      --skip;
    } else {
      words.emplace_back(line.substr(start, i - start), start);
    }
  }
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::size_t best = std::min(w, columns - 1);
    if (words.size() != columns) {
      const auto gap = [&](std::size_t c) {
        const std::size_t x = header.tail[c].offset, y = words[w].second;
        return x > y ? x - y : y - x;
      };
      for (std::size_t c = 0; c < columns; ++c) {
        if (gap(c) < gap(best)) best = c;
      }
    }
    row.tail.emplace_back(header.tail[best].name, words[w].first);
  }
}

/// Reads the cells of one row. A fault left of or inside the GPU block is an error, one right of
/// it (in NIC columns) a note.
Row read_row(const std::string& line, std::size_t number, const Header& header,
             std::vector<std::string>& notes) {
  Row row{number, {}, {}};
  const auto words = text::words(line);
  for (std::size_t c = 0; c < header.devices.size(); ++c) {
    const bool missing = c + 1 >= words.size();
    const auto path = missing ? std::nullopt : parse_path(words[c + 1]);
    if (path) {
      row.cells.push_back(*path);
      continue;
    }
    const std::string fault =
        "line " + std::to_string(number) + ", row " + words.front() + ", column " +
        header.devices[c] +
        (missing ? ": the cell is missing (truncated?)"
                 : ": " + text::quote(words[c + 1]) + " is not X, NV#, PIX, PXB, PHB, NODE or SYS");
    const bool gpu_at_risk =
        gpu_index(words.front()) &&
        std::any_of(header.devices.begin() + static_cast<std::ptrdiff_t>(c), header.devices.end(),
                    [](const std::string& device) { return gpu_index(device); });
    if (gpu_at_risk) refuse(fault);
    notes.push_back(fault + "; NIC cells from there on are left out");
    return row;
  }
  read_tail(line, header, row);
  return row;
}

bool is_range_list(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == ',' || c == '-';
  });
}

Gpu make_gpu(int index, const Row& row, std::vector<std::string>& notes) {
  Gpu gpu;
  gpu.index = index;
  for (const auto& [column, value] : row.tail) {
    if (value.empty() || value == "N/A") continue;
    if (!is_range_list(value)) {
      notes.push_back("GPU" + std::to_string(index) + ": " + column + " " + text::quote(value) +
                      " is not understood and left out");
    } else if (column == "CPU Affinity") {
      gpu.cpu_affinity = value;
    } else if (column == "NUMA Affinity") {
      gpu.numa_affinity = value;
      if (text::is_number(value) && value.size() < 7) gpu.numa = std::stoi(value);
    }
  }
  return gpu;
}

/// The GPU block as links; checks the diagonal and the symmetry.
void fill_links(const Header& header, const std::map<std::string, Row>& rows,
                TopologyGraph& graph) {
  std::map<std::string, std::size_t> column;
  for (std::size_t c = 0; c < header.devices.size(); ++c) column[header.devices[c]] = c;
  for (const auto& [name, row] : rows) {
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const bool diagonal = header.devices[c] == name;
      if (diagonal != (row.cells[c].type == PathType::kSelf)) {
        refuse("line " + std::to_string(row.line) + ", row " + name + ", column " +
               header.devices[c] + ": " + to_string(row.cells[c]) +
               (diagonal ? " where X must stand" : " off the diagonal") +
               "; the row is shifted or glued");
      }
    }
  }
  for (std::size_t i = 0; i < graph.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < graph.gpus.size(); ++j) {
      const std::string a = "GPU" + std::to_string(graph.gpus[i].index);
      const std::string b = "GPU" + std::to_string(graph.gpus[j].index);
      const Path forth = rows.at(a).cells[column.at(b)];
      const Path back = rows.at(b).cells[column.at(a)];
      if (!(forth == back)) {
        refuse("row " + a + ", column " + b + " says " + to_string(forth) + ", row " + b +
               ", column " + a + " says " + to_string(back) + "; the paste is damaged");
      }
      Link link;
      link.a = graph.gpus[i].index;
      link.b = graph.gpus[j].index;
      link.path = forth;
      graph.links.push_back(std::move(link));
    }
  }
}

/// The line without mail quoting, or empty for comments, code fences and rulers.
std::string_view payload(std::string_view line) {
  std::string_view rest = text::trim(line);
  bool quoted = false;
  while (!rest.empty() && rest.front() == '>') {
    rest = text::trim(rest.substr(1));
    quoted = true;
  }
  if (rest.empty() || rest.front() == '#' || rest.substr(0, 3) == "```") return {};
  return quoted ? rest : line;
}

bool looks_like_cells(const std::vector<std::string>& words) {
  return words.size() > 1 && is_device_word(words.front()) && parse_path(words[1]);
}

void check_foreign(std::string_view line, std::size_t number) {
  const std::string_view bare = text::trim(line);
  const std::string place = "line " + std::to_string(number) + ": ";
  if (!bare.empty() && bare.front() == '|' && bare.find("GPU") != std::string_view::npos) {
    refuse(place + "a hand-made (Markdown) table, not nvidia-smi's output; give the output itself");
  }
  for (const std::string_view sign : {"ERROR:", "NVIDIA-SMI has failed", "Failed to initialize",
                                      "No devices were found", "command not found"}) {
    if (bare.find(sign) != std::string_view::npos) {
      refuse(place + "nvidia-smi printed an error instead of a matrix: " + text::quote(bare));
    }
  }
}

struct Parsed {
  std::optional<Header> header;
  std::map<std::string, Row> rows;
  std::vector<std::string> notes;
};

void read_matrix_line(const std::string& line, std::size_t number, Parsed& parsed) {
  const auto words = text::words(line);
  const auto& devices = parsed.header->devices;
  if (words.size() < 2 && !gpu_index(words.front())) return;
  if (std::find(devices.begin(), devices.end(), words.front()) != devices.end()) {
    if (parsed.rows.count(words.front()) != 0) {
      refuse("line " + std::to_string(number) + ": row " + words.front() + " appears twice");
    }
    parsed.rows.emplace(words.front(), read_row(line, number, *parsed.header, parsed.notes));
  } else if (looks_like_cells(words)) {
    refuse("line " + std::to_string(number) + ": row " + words.front() + " has no column");
  }
}

Parsed read_lines(std::string_view raw) {
  Parsed parsed;
  const auto all = text::lines(strip_terminal_codes(raw));
  bool legend = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string line(payload(all[i]));
    if (text::trim(line).empty()) continue;
    legend = legend || line.find("Legend") != std::string::npos;
    if (!parsed.header) check_foreign(line, i + 1);
    auto header = read_header(line, i + 1);
    if (header && (!parsed.header || header->devices.size() > 1 || !header->tail.empty())) {
      if (parsed.header) {
        refuse("line " + std::to_string(i + 1) + ": a second matrix; give one host per file");
      }
      check_header(*header);
      parsed.header = std::move(header);
    } else if (parsed.header && !legend) {
      read_matrix_line(line, i + 1, parsed);
    } else if (!parsed.header) {
      if (looks_like_cells(text::words(line))) {
        refuse("line " + std::to_string(i + 1) +
               ": a row without the header line of GPU columns; give the whole output");
      }
    }
  }
  return parsed;
}

}  // namespace

TopologyGraph parse_topo_matrix(std::string_view raw) {
  Parsed parsed = read_lines(raw);
  if (!parsed.header) refuse("no header line with GPU columns was found; give the whole output");
  const Header& header = *parsed.header;
  TopologyGraph graph;
  graph.source = "nvidia-smi topo -m";
  graph.hosts.push_back({});
  std::string missing_gpus, missing_nics;
  for (const std::string& device : header.devices) {
    const auto index = gpu_index(device);
    const auto row = parsed.rows.find(device);
    if (row == parsed.rows.end()) {
      (index ? missing_gpus : missing_nics) += ' ' + device;
    } else if (index) {
      graph.gpus.push_back(make_gpu(*index, row->second, parsed.notes));
    }
  }
  if (!missing_gpus.empty()) {
    refuse("truncated: the header names GPUs without a row:" + missing_gpus);
  }
  if (!missing_nics.empty()) parsed.notes.push_back("NIC rows are missing:" + missing_nics);
  std::sort(graph.gpus.begin(), graph.gpus.end(),
            [](const Gpu& x, const Gpu& y) { return x.index < y.index; });
  fill_links(header, parsed.rows, graph);
  graph.notes = std::move(parsed.notes);
  graph.notes.emplace_back("a matrix holds no names, UUIDs, link widths or measured speeds");
  graph.validate();
  return graph;
}

}  // namespace ditar
