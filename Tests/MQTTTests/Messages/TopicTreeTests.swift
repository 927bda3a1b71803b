#if Gateway
    import BLETestSupport
    import CMosquitto
    import Testing

    @testable import MQTT

    @Suite struct TopicTreeTests {
        private func matches(_ filters: [String], _ topic: String) throws -> Set<String> {
            var tree = TopicTree<String>()
            for filter in filters { tree[try TopicFilter(filter)] = filter }
            return found(tree, topic)
        }

        private func found(_ tree: TopicTree<String>, _ topic: String) -> Set<String> {
            var found: [String] = []
            tree.forEachMatch(topic) { found.append($0) }
            #expect(Set(found).count == found.count, "each filter once")
            return Set(found)
        }

        @Test(arguments: [
            ("a/b", ["a/b", "a/+", "+/b", "+/+", "#", "a/#", "a/b/#"]),
            ("a", ["a", "+", "#", "a/#"]),
            ("a/", ["a/", "a/+", "a/#", "+/", "#", "+/+"]),
            ("/a", ["/a", "/+", "+/a", "+/+", "#", "/#"]),
            ("/", ["/", "/+", "+/", "+/+", "#", "/#"]),
            ("a//b", ["a//b", "a/+/b", "a/#", "#", "+/+/+"]),
            ("$SYS/a", ["$SYS/a", "$SYS/+", "$SYS/#"]),
        ])
        func `a topic finds the filters that match it`(topic: String, expected: [String]) throws {
            let others = ["b", "b/#", "+/b/+", "a/b/c", "a/b/+", "$SYS", "/b", "b/", "a/+/+/+", "c/+"]
            #expect(try matches(expected + others, topic) == Set(expected))
        }

        @Test func `random filters match what libmosquitto says they match, also after some are removed`() throws {
            var random = SeededGenerator(seed: 7)
            func text(_ words: [String]) -> String {
                (0..<Int.random(in: 1...4, using: &random)).map { _ in words.randomElement(using: &random)! }
                    .joined(separator: "/")
            }
            var filters: Set<String> = []
            while filters.count < 300 {
                var filter = text(["a", "b", "", "+", "$x"])
                if Bool.random(using: &random) { filter += "/#" }
                if !filter.isEmpty { filters.insert(filter) }
            }
            var tree = TopicTree<String>()
            for filter in filters { tree[try TopicFilter(filter)] = filter }
            for _ in 0..<6 {
                for _ in 0..<200 {
                    let topic = text(["a", "b", "", "$x"])
                    guard !topic.isEmpty else { continue }
                    let expected = filters.filter { filter in
                        var result = false
                        return mosquitto_topic_matches_sub(filter, topic, &result) == MOSQ_ERR_SUCCESS.rawValue
                            && result
                    }
                    #expect(found(tree, topic) == expected, "\(topic)")
                }
                for filter in filters.prefix(50) {
                    tree[try TopicFilter(filter)] = nil
                    filters.remove(filter)
                }
            }
            #expect(tree.isEmpty && filters.isEmpty)
        }

        @Test func `the value of a filter can be looked up, replaced and removed`() throws {
            var tree = TopicTree<Int>()
            let (one, other) = (try TopicFilter("a/+/c"), try TopicFilter("a/+"))
            tree[one] = 1
            #expect(tree[one] == 1 && tree[other] == nil)
            tree[other] = 2
            tree[one] = 3
            #expect(tree[one] == 3 && tree[other] == 2)
            tree[one] = nil
            #expect(tree[one] == nil && tree[other] == 2)
            tree[other] = nil
            #expect(tree.isEmpty)
        }

        @Test(arguments: [
            "", "a/#/b", "a#", "a+/b", "+a", "#/a", "a\u{0}b", "a\nb", "$share/group/a",
            String(repeating: "a", count: 65536), String(repeating: "/", count: 300),
        ])
        func `an invalid filter is refused`(text: String) {
            #expect { try TopicFilter(text) } throws: { ($0 as? MQTTError)?.code == .invalidArgument }
        }

        @Test(arguments: [
            "", "a/#", "+", "a\u{0}b", "a\u{7F}", "\u{FFFF}", String(repeating: "a", count: 65536),
            String(repeating: "/", count: 300),
        ])
        func `an invalid topic is refused`(text: String) {
            for message in [MQTTMessage(text, []), MQTTMessage("a", [], responseTopic: text)] {
                #expect { try message.check() } throws: { ($0 as? MQTTError)?.code == .invalidArgument }
            }
        }

        @Test func `invalid properties are refused`() {
            for message in [
                MQTTMessage("a", [], expiry: .zero), MQTTMessage("a", [], expiry: .seconds(1 << 33)),
                MQTTMessage("a", [], correlationData: [UInt8](repeating: 0, count: 65536)),
                MQTTMessage("a", [], contentType: "a\u{0}"),
                MQTTMessage("a", [], userProperties: [MQTTMessage.UserProperty("a", "\u{1}")]),
            ] {
                #expect { try message.check() } throws: { ($0 as? MQTTError)?.code == .invalidArgument }
            }
        }
    }
#endif
