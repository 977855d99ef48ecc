"""reports by language

Revision: 0004
Follows: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("calibrations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("reports", sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("calibrations", schema=None) as batch_op:
        batch_op.drop_column("reports")
