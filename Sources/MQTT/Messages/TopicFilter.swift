#if Gateway
    internal import CMosquitto

    /// A topic filter: a topic in which `+` stands for any one level, and a last level `#` for any levels.
    package struct TopicFilter: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// Throws `.invalidArgument` for text that is not a valid filter, or is that of a shared subscription.
        package init(_ text: String) throws(MQTTError) {
            try MQTTMessage.checkText(text)
            guard MQTTMessage.hasValidLevels(text),
                mosquitto_sub_topic_check2(text, text.utf8.count) == MOSQ_ERR_SUCCESS.rawValue
            else { throw MQTTError(.invalidArgument, "\"\(text)\" is not a valid topic filter") }
            guard !text.hasPrefix("$share/") else {
                throw MQTTError(.invalidArgument, "shared subscriptions are not supported")
            }
            description = text
        }
    }
#endif
