"""Small sizes, by the names of settings."""

from __future__ import annotations

SMALL: dict[str, int] = {
    **dict.fromkeys(
        (
            "hidden_size d_model n_embd dim embed_dim emb_dim embedding_size model_dim width "
            "encoder_hidden_size decoder_hidden_size projection_dim proj_dim output_dim "
            "attention_dim vision_embed_dim entity_emb_size dec_embed_dim conv_dim "
            "input_embedding_size hidden_dim_size output_hidden_size out_hidden_size "
            "text_embed_dim d_latents encoder_dim decoder_dim lstm_dim cross_attention_dim"
        ).split(),
        32,
    ),
    **dict.fromkeys(
        (
            "intermediate_size ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim n_inner hidden_dim "
            "ffn_hidden_size d_inner dim_feedforward mlp_dim dense_intermediate_size "
            "shared_expert_intermediate_size feed_forward_proj_size"
        ).split(),
        48,
    ),
    **dict.fromkeys(["moe_intermediate_size", "expert_intermediate_size"], 16),
    **dict.fromkeys(
        (
            "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers depth "
            "num_decoder_layers num_encoder_layers num_blocks"
        ).split(),
        2,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads n_head n_heads num_heads encoder_attention_heads "
            "decoder_attention_heads attention_heads num_attn_heads encoder_num_attention_heads "
            "decoder_num_attention_heads num_self_attention_heads num_cross_attention_heads"
        ).split(),
        4,
    ),
    **dict.fromkeys(["num_key_value_heads", "n_head_kv", "encoder_num_key_value_heads"], 2),
    **dict.fromkeys(["head_dim", "d_kv", "d_head", "attention_head_size", "global_head_dim"], 8),
    **dict.fromkeys(["vocab_size", "entity_vocab_size", "vocab_size_per_layer_input"], 300),
    **dict.fromkeys(
        (
            "max_position_embeddings n_positions max_source_positions max_target_positions n_ctx "
            "max_seq_len max_sequence_length max_seq_length"
        ).split(),
        64,
    ),
    **dict.fromkeys(["num_experts", "num_local_experts", "n_routed_experts"], 4),
    **dict.fromkeys(["num_experts_per_tok", "moe_topk", "num_experts_per_token"], 2),
    **dict.fromkeys(["q_lora_rank", "kv_lora_rank", "o_lora_rank"], 16),
    **dict.fromkeys(["qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "qk_head_dim"], 8),
    **dict.fromkeys(["attention_window", "local_radius"], 8),
    "image_size": 32,
    "patch_size": 8,
    "type_vocab_size": 2,
    **dict.fromkeys(["n_group", "topk_group"], 1),
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
}

COUNTS = frozenset(
    (
        "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers depth "
        "num_decoder_layers num_encoder_layers num_blocks vocab_size vocab_size_per_layer_input "
        "num_experts num_local_experts n_routed_experts num_experts_per_tok moe_topk n_group "
        "num_experts_per_token topk_group"
    ).split()
)
"""Settings that count things and on which no other size hangs."""

THREE_AXES = ("qwen2_vl", "qwen2_5_vl", "glm4v", "glm46v", "glm_", "glmga", "paddleocr")

LEFT_OUT = ("per_layer_config", "pad_token")
"""Settings that only fit the size they came with; without them the family's defaults hold."""

STAGES = ("out_features", "out_indices", "stage_names")
"""Settings that fit the number of stages a backbone came with."""
