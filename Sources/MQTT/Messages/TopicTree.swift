#if Gateway
    /// Values under topic filters, found by a topic. The time for that grows with the levels of the topic and with the
    /// filters that match a part of it, not with the number of filters.
    struct TopicTree<Value: Sendable>: Sendable {
        private struct Node: Sendable {
            var children: [Substring: Node] = [:]
            var value: Value?
            var isEmpty: Bool { value == nil && children.isEmpty }
        }

        private var root = Node()

        var isEmpty: Bool { root.isEmpty }

        /// The value under a filter.
        subscript(filter: TopicFilter) -> Value? {
            get {
                var node: Node? = root
                for level in Self.levels(filter.description) { node = node?.children[level] }
                return node?.value
            }
            set { Self.set(newValue, &root, ArraySlice(Self.levels(filter.description))) }
        }

        private static func levels(_ text: String) -> [Substring] {
            text.split(separator: "/", omittingEmptySubsequences: false)
        }

        private static func set(_ value: Value?, _ node: inout Node, _ levels: ArraySlice<Substring>) {
            guard let level = levels.first else {
                node.value = value
                return
            }
            set(value, &node.children[level, default: Node()], levels.dropFirst())
            if node.children[level]?.isEmpty == true { node.children[level] = nil }
        }

        /// Calls `body` with the values of the filters that match a valid topic, in no particular order.
        func forEachMatch(_ topic: String, _ body: (Value) -> Void) {
            Self.visit(root, topic[...], isHidden: topic.hasPrefix("$"), body)
        }

        /// - Parameters:
        ///   - rest: the levels of the topic below the node; nil if there are none.
        ///   - isHidden: whether wildcards do not match the first of them, as in `$SYS/…`.
        private static func visit(_ node: Node, _ rest: Substring?, isHidden: Bool, _ body: (Value) -> Void) {
            // This wildcard includes its parent level.
            if !isHidden, let value = node.children["#"]?.value { body(value) }
            guard let rest else {
                if let value = node.value { body(value) }
                return
            }
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/"))
            let next = end.map { rest[rest.utf8.index(after: $0)...] }
            if let child = node.children[end.map { rest[..<$0] } ?? rest] { visit(child, next, isHidden: false, body) }
            if !isHidden, let child = node.children["+"] { visit(child, next, isHidden: false, body) }
        }
    }
#endif
