// GPUs stand on a circle; every pair is a line whose thickness and colour follow its path.
#include "render_svg.h"

#include <cmath>
#include <iomanip>
#include <map>
#include <numbers>
#include <sstream>

namespace ditar {
namespace {

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

struct LineStyle {
  const char* colour;
  double width;
};

LineStyle style_of(Path path) {
  switch (path.type) {
    case PathType::kNvl:
      return {"#3a7d00", 3.0 + 0.3 * std::min(path.nvlinks, 18)};
    case PathType::kPix:
    case PathType::kPxb:
      return {"#1f5fa8", 3.0};
    case PathType::kPhb:
    case PathType::kNode:
      return {"#8a6d00", 2.0};
    default:
      return {"#a03030", 1.5};
  }
}

struct Point {
  double x, y;
};

std::string link_label(const Link& link) {
  std::ostringstream text;
  text << to_string(link.path);
  if (link.cost) {
    text << std::fixed << std::setprecision(1) << ": " << link.cost->bandwidth_gb_per_s << " GB/s, "
         << link.cost->alpha_us << " us, " << to_string(link.cost->origin);
  }
  return text.str();
}

void draw_link(std::ostream& out, const Link& link, Point a, Point b, bool labelled) {
  const LineStyle style = style_of(link.path);
  out << "<line x1=\"" << a.x << "\" y1=\"" << a.y << "\" x2=\"" << b.x << "\" y2=\"" << b.y
      << "\" stroke=\"" << style.colour << "\" stroke-width=\"" << style.width << "\"><title>GPU"
      << link.a << "-GPU" << link.b << ' ' << escape(link_label(link)) << "</title></line>\n";
  if (labelled) {
    out << "<text x=\"" << (a.x + b.x) / 2 << "\" y=\"" << (a.y + b.y) / 2 - 8
        << "\" text-anchor=\"middle\" fill=\"" << style.colour << "\">" << escape(link_label(link))
        << "</text>\n";
  }
}

void draw_gpu(std::ostream& out, const Gpu& gpu, Point at) {
  constexpr double kHalfWidth = 105, kHalfHeight = 32;
  out << "<rect x=\"" << at.x - kHalfWidth << "\" y=\"" << at.y - kHalfHeight << "\" width=\""
      << 2 * kHalfWidth << "\" height=\"" << 2 * kHalfHeight
      << "\" rx=\"6\" fill=\"#f4f4f4\" stroke=\"#404040\"/>\n";
  const std::string lines[] = {
      "GPU" + std::to_string(gpu.index) + (gpu.name.empty() ? "" : "  " + gpu.name),
      gpu.pci.empty() ? "PCI unknown" : gpu.pci,
      "NUMA " + (gpu.numa ? std::to_string(*gpu.numa)
                          : (gpu.numa_affinity.empty() ? "unknown" : gpu.numa_affinity))};
  double y = at.y - 12;
  for (const std::string& line : lines) {
    out << "<text x=\"" << at.x << "\" y=\"" << y << "\" text-anchor=\"middle\">" << escape(line)
        << "</text>\n";
    y += 18;
  }
}

}  // namespace

std::string render_svg(const TopologyGraph& graph) {
  constexpr std::size_t kMostLabelled = 4;  // with more GPUs labels would overlap: hover instead
  const auto count = static_cast<double>(graph.gpus.size());
  const double radius = std::max(240.0, 70.0 * count / std::numbers::pi);
  const double width = 2 * radius + 260, height = 2 * radius + 140;
  std::map<int, Point> places;
  for (std::size_t i = 0; i < graph.gpus.size(); ++i) {
    const double angle = std::numbers::pi * (1.0 + 2.0 * static_cast<double>(i) / count);
    places[graph.gpus[i].index] = {width / 2 + radius * std::cos(angle),
                                   height / 2 + radius * std::sin(angle)};
  }
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
      << width << "\" height=\"" << height << "\" viewBox=\"0 0 " << width << ' ' << height
      << "\" font-family=\"sans-serif\" font-size=\"13\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      << "<text x=\"12\" y=\"22\">" << escape(graph.source) << "</text>\n";
  for (const Link& link : graph.links) {
    draw_link(out, link, places.at(link.a), places.at(link.b), graph.gpus.size() <= kMostLabelled);
  }
  for (const Gpu& gpu : graph.gpus) draw_gpu(out, gpu, places.at(gpu.index));
  if (graph.gpus.empty()) {
    out << "<text x=\"" << width / 2 << "\" y=\"" << height / 2
        << "\" text-anchor=\"middle\">no GPU</text>\n";
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace ditar
